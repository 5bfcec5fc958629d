//go:build linux

// Package runfolder makes folders for the files of what a process has started. The process holds a lock on its folder, so
// that others recognize a folder whose process was killed, and remove it.
package runfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is the directory that contains the folders.
const Dir = "/run/nodrop"

// Folder contains the files of what a process has started.
type Folder struct {
	// Path of the folder.
	Path string
	lock *os.File
}

// New makes a folder in dir whose name begins with a prefix, and whose files only root lists, and holds it.
func New(dir, prefix string) (*Folder, error) {
	making, err := guard(dir)
	if err != nil {
		return nil, err
	}
	defer making.Close()
	path, err := os.MkdirTemp(dir, prefix)
	if err != nil {
		return nil, err
	}
	// Programs that are not root may have folders in it.
	err = os.Chmod(path, 0o711)
	var lock *os.File
	if err == nil {
		lock, err = hold(path)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Folder{path, lock}, nil
}

// guard keeps others from making or cleaning folders until it is closed.
func guard(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), f.Close())
	}
	return f, nil
}

// hold takes the lock of a folder, which ends with the process. It fails with unix.EWOULDBLOCK when a process has it.
func hold(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return f, nil
}

// Held reports whether a process holds the folder.
func Held(path string) (bool, error) {
	lock, err := hold(path)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, lock.Close()
}

// Release gives the lock up, as the kernel does when the process ends. The folder stays.
func (f *Folder) Release() error { return f.lock.Close() }

// Remove removes the folder. A nil folder is none.
func (f *Folder) Remove() error {
	if f == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(f.Path), f.lock.Close())
}

// Clean removes the folders with a prefix in dir that no process holds, and returns their number. It ends the processes of each one
// before, and calls end with its path, if there is such a function.
func Clean(dir, prefix string, end func(path string) error) (int, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	cleaning, err := guard(dir)
	if err != nil {
		return 0, err
	}
	defer cleaning.Close()
	paths, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return 0, err
	}
	cleaned := 0
	var errs []error
	for _, path := range paths {
		lock, err := hold(path)
		if errors.Is(err, unix.EWOULDBLOCK) {
			continue // its process lives
		}
		if err == nil {
			err = endProcesses(path)
			if end != nil {
				err = errors.Join(err, end(path))
			}
			err = errors.Join(err, (&Folder{path, lock}).Remove())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", path, err))
			continue
		}
		cleaned++
	}
	return cleaned, errors.Join(errs...)
}
