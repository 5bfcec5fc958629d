//go:build linux

package hostdevice

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/netif"
)

// DefaultDir is the directory that contains the notes. It survives processes, and need not
// survive a boot, which brings interfaces back by itself.
const DefaultDir = "/run/nodrop/interfaces"

// Names of files in the directory of a run.
const (
	lockFile   = "lock"
	originFile = "origin"
	runFile    = "run"
)

// Store is a directory with notes: one directory for each run that has interfaces.
type Store struct{ dir string }

// NewStore is the store in a directory, which is made when something is kept there.
func NewStore(dir string) (*Store, error) {
	if dir == "" {
		dir = DefaultDir
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for the directory of notes: %w", err)
	}
	return &Store{dir: dir}, nil
}

// open makes the directory, and makes sure that no other user can write notes: they are obeyed
// with the rights of root.
func (s *Store) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of notes: %w", err)
	}
	info, err := os.Stat(s.dir)
	if err != nil {
		return fmt.Errorf("looking at the directory of notes: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return hint.With(fmt.Errorf("the directory of notes, %s, can be written by others (%s, user %d)", s.dir, info.Mode(), owner.Uid),
			"chown it to root and take the write permission of group and others away, or name another with --state-dir")
	}
	return nil
}

// exclusively runs f while no other process changes the store.
func (s *Store) exclusively(f func() error) error {
	lock, err := lockAt(filepath.Join(s.dir, lockFile), unix.LOCK_EX)
	if err != nil {
		return fmt.Errorf("locking the directory of notes: %w", err)
	}
	defer lock.Close()
	return f()
}

// lockAt locks a file, which it makes, until the file is closed or the process ends.
func lockAt(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
}

// PutBack is an interface of a run whose process is dead.
type PutBack struct {
	// Interface that is back, and Benchmark and process that had it.
	Interface, Benchmark string
	PID                  int
	// Changes describe what was done; empty if nothing was left to do.
	Changes []string
	// Failed describes the settings that could not be restored.
	Failed []string
	// Gone reports whether the interface does not exist any more.
	Gone bool
}

// Clean puts back the interfaces of all runs whose processes are dead. It also returns how
// many runs live, whose interfaces it does not touch. What could not be put back is tried
// again by the next call.
func (s *Store) Clean() (done []PutBack, living int, err error) {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err := s.open(); err != nil {
		return nil, 0, err
	}
	err = s.exclusively(func() error {
		done, living, err = s.clean()
		return err
	})
	return done, living, err
}

// clean is Clean while no other process changes the store.
func (s *Store) clean() (done []PutBack, living int, err error) {
	dirs, err := s.runs()
	if err != nil {
		return nil, 0, err
	}
	var errs []error
	for _, dir := range dirs {
		lock, err := lockOfDead(dir)
		if errors.Is(err, unix.EWOULDBLOCK) {
			living++
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("looking whether the run of %s lives: %w", dir, err))
			continue
		}
		back, err := putBackAll(dir)
		done = append(done, back...)
		if err != nil {
			errs = append(errs, err)
		}
		lock.Close()
	}
	return done, living, errors.Join(errs...)
}

// runs are the directories of all runs.
func (s *Store) runs() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("reading the directory of notes: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() {
			dirs = append(dirs, filepath.Join(s.dir, e.Name()))
		}
	}
	return dirs, nil
}

// livingNotes returns the notes of runs that have interfaces now.
func (s *Store) livingNotes() ([]*Note, error) {
	dirs, err := s.runs()
	if err != nil {
		return nil, err
	}
	var notes []*Note
	for _, dir := range dirs {
		lock, err := lockOfDead(dir)
		if err == nil {
			lock.Close()
			continue
		}
		if note, err := readNote(dir); err == nil {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

// putBackAll puts back the interfaces of the note in a directory, and removes the
// directory when that is done.
func putBackAll(dir string) ([]PutBack, error) {
	note, err := readNote(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, remove(dir) // nothing was touched
	case err != nil:
		return nil, hint.With(err, "put the interfaces back by hand as the note says, and remove "+dir)
	}
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	if boot != note.Boot {
		return nil, remove(dir) // the boot has brought the interfaces back
	}
	origin, run := pinned(filepath.Join(dir, originFile)), pinned(filepath.Join(dir, runFile))
	defer closeAll(&origin, &run)
	if !origin.IsOpen() {
		// It was unmounted by another program.
		if origin, err = netns.Get(); err != nil {
			return nil, fmt.Errorf("looking at the own network namespace: %w", err)
		}
		if here, err := netif.Inode(int(origin)); err != nil || here != note.Namespace {
			return nil, hint.With(fmt.Errorf("the interfaces of benchmark %s came from network namespace %d, and this is %d", note.Benchmark, note.Namespace, here),
				"run nodrop clean in that namespace, or remove "+dir+" if it has ended")
		}
	}
	back, err := note.putBack(origin, run)
	if err != nil {
		return back, err
	}
	return back, remove(dir)
}

// putBack puts back all interfaces of a note, each whatever happens to the others.
func (n *Note) putBack(origin, run netns.NsHandle) (back []PutBack, err error) {
	first := firstNamespace()
	defer closeAll(&first)
	var errs []error
	for _, i := range n.Interfaces {
		changes, failed, err := i.putBack(origin, run, first)
		gone := (*goneError)(nil)
		switch {
		case errors.As(err, &gone):
			back = append(back, PutBack{Interface: i.Name, Benchmark: n.Benchmark, PID: n.PID, Gone: true})
		case err != nil:
			errs = append(errs, hint.With(fmt.Errorf("putting back interface %s of benchmark %s: %w", i.Name, n.Benchmark, err),
				"remove the cause, then run nodrop clean"))
		default:
			back = append(back, PutBack{Interface: i.Name, Benchmark: n.Benchmark, PID: n.PID, Changes: changes, Failed: failed})
		}
	}
	return back, errors.Join(errs...)
}

func closeAll(all ...*netns.NsHandle) {
	for _, ns := range all {
		if ns.IsOpen() {
			ns.Close()
		}
	}
}

// remove ends what is kept for a run. The note goes first: a directory without one needs
// nothing but to be removed.
func remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, noteFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the note of the interfaces: %w", err)
	}
	var errs []error
	for _, file := range []string{originFile, runFile} {
		errs = append(errs, unpin(filepath.Join(dir, file)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the directory of the run: %w", err)
	}
	return nil
}

// firstNamespace returns the network namespace of the first process, to which cards return
// after their namespace has ended. It is closed if it may not be inspected.
func firstNamespace() netns.NsHandle {
	ns, err := netns.GetFromPid(1)
	if err != nil {
		return netns.None()
	}
	return ns
}
