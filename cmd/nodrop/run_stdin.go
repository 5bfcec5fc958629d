//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// keepStdin returns manifests from stdin in a form that survives the program's
// executing itself anew.
func keepStdin(stdin io.Reader, files []string) (io.Reader, error) {
	if !slices.Contains(files, "-") {
		return stdin, nil
	}
	text, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("reading manifests from stdin: %w", err)
	}
	if stdin == os.Stdin {
		if err := replaceStdin(text); err != nil {
			return nil, fmt.Errorf("keeping the manifests from stdin: %w", err)
		}
	}
	return bytes.NewReader(text), nil
}

// replaceStdin makes a text what stdin yields from now on, by a file in memory.
func replaceStdin(text []byte) error {
	fd, err := unix.MemfdCreate("manifests", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "manifests")
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	// The copy in the place of stdin stays open across exec.
	return unix.Dup3(fd, int(os.Stdin.Fd()), 0)
}
