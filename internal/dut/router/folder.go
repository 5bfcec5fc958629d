//go:build linux

package router

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is the directory that contains the files of routers.
const Dir = "/run/nodrop"

// folder has the files of a router. Its process holds a lock on it.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder whose files only root lists, and holds it.
func newFolder(dir, kind string) (*folder, error) {
	making, err := guard(dir)
	if err != nil {
		return nil, err
	}
	defer making.Close()
	path, err := os.MkdirTemp(dir, "router-"+kind+"-")
	if err != nil {
		return nil, err
	}
	// Zebra, which is no root, has a folder in it.
	err = os.Chmod(path, 0o711)
	var lock *os.File
	if err == nil {
		lock, err = hold(path)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{path, lock}, nil
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

// hold takes the lock of a folder, which ends with the process. It fails with
// unix.EWOULDBLOCK when a process has it.
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

// remove removes the folder. A nil folder is none.
func (f *folder) remove() error {
	if f == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// Clean removes what processes that were killed have left of their routers in dir, and
// returns how many routers that were.
func Clean(dir string) (int, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	cleaning, err := guard(dir)
	if err != nil {
		return 0, err
	}
	defer cleaning.Close()
	paths, err := filepath.Glob(filepath.Join(dir, "router-*"))
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
			err = errors.Join(endProcesses(path), leftLimit(path).remove(), (&folder{path, lock}).remove())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("removing the router in %s: %w", path, err))
			continue
		}
		cleaned++
	}
	return cleaned, errors.Join(errs...)
}

// endProcesses ends the processes of a router that outlived the one that started them.
func endProcesses(path string) error {
	files, err := filepath.Glob(filepath.Join(path, "*.pid"))
	if err != nil {
		return err
	}
	zebra, err := filepath.Glob(filepath.Join(path, zebraFolder, "*.pid"))
	if err != nil {
		return err
	}
	files = append(files, zebra...)
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || pid <= 1 {
			continue // it ended before it wrote its number
		}
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(command), path+"/") {
			continue // it has ended
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("ending process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}
