// Package sysfs reads and writes settings of network interfaces in /sys.
//
// A mount of sysfs shows the interfaces of the network namespace that it was made in. The
// functions make one in that of the calling thread, which no other process sees and which
// ends when they return. They need CAP_SYS_ADMIN there.
package sysfs

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Write writes a file, whose path begins below /sys.
func Write(path, value string) error {
	file, err := open(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(value); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Read is the text of a file, whose path begins below /sys.
func Read(path string) (string, error) {
	file, err := open(path, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return string(text), nil
}

func open(path string, flags int) (*os.File, error) {
	filesystem, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("opening sysfs: %w", err)
	}
	defer unix.Close(filesystem)
	if err := unix.FsconfigCreate(filesystem); err != nil {
		return nil, fmt.Errorf("opening sysfs: %w", err)
	}
	root, err := unix.Fsmount(filesystem, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("mounting sysfs: %w", err)
	}
	defer unix.Close(root)
	file, err := unix.Openat(root, path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return os.NewFile(uintptr(file), path), nil
}
