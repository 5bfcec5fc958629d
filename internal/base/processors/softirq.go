package processors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// NotesDir is the directory of the notes about preferred threads. It need not survive a boot, which
// gives threads their priority again.
const NotesDir = "/run/nodrop/softirq"

// ErrUnseen is wrapped where the kernel's threads are not in this PID namespace.
var ErrUnseen = errors.New("the kernel's threads cannot be seen from this PID namespace")

// mostPreferred is the nice value with the largest share of a processor.
const mostPreferred = -20

// PreferSoftInterrupts lets a processor's soft interrupts come before its processes also
// where the kernel leaves them to its thread ksoftirqd, which otherwise takes turns with
// the processes. undo sets the thread's priority as it was, unless another process prefers the
// thread too: the last one does. It needs CAP_SYS_NICE and the first PID namespace, and fails with
// ErrUnseen in another one. A process that is killed leaves the thread preferred, and a note in
// dir, from which the next user of the thread knows the priority, and RestoreSoftInterrupts.
func PreferSoftInterrupts(dir string, processor int) (undo func() error, _ error) {
	name := fmt.Sprintf("ksoftirqd/%d", processor)
	thread, err := kernelThread(name)
	if err != nil {
		return nil, err
	}
	return prefer(dir, name, thread)
}

// RestoreSoftInterrupts restores the priority of the threads whose users were all killed, and
// returns their names.
func RestoreSoftInterrupts(dir string) (restored []string, _ error) {
	return restore(dir, kernelThread)
}

// prefer is PreferSoftInterrupts for a thread.
func prefer(dir, name string, thread int) (undo func() error, _ error) {
	var n *note
	err := exclusively(dir, func() (err error) {
		if n, err = openNote(dir, name); err != nil {
			return err
		}
		if err = n.share(thread); err == nil {
			err = setNice(name, thread, mostPreferred)
		}
		if err != nil {
			_, leaving := n.leave(thread)
			err = errors.Join(err, leaving)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("preferring %s: %w", name, err)
	}
	return func() error {
		return exclusively(dir, func() error {
			_, err := n.leave(thread)
			return err
		})
	}, nil
}

// restore is RestoreSoftInterrupts with a way to find threads.
func restore(dir string, find func(name string) (thread int, err error)) (restored []string, _ error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err := exclusively(dir, func() error {
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		var errs []error
		for _, file := range files {
			name := strings.ReplaceAll(file.Name(), "-", "/")
			thread, err := find(name)
			if errors.Is(err, ErrUnseen) {
				continue // A process in the first PID namespace can restore it.
			}
			if err == nil {
				var was bool
				if was, err = restoreThread(dir, name, thread); was {
					restored = append(restored, name)
				}
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return restored, err
}

// restoreThread restores the priority of a thread if its users were all killed.
func restoreThread(dir, name string, thread int) (restored bool, _ error) {
	n, err := openNote(dir, name)
	if err != nil {
		return false, err
	}
	return n.leave(thread)
}

// note is a file with the nice value that a thread had before it was preferred. Each process that
// prefers the thread holds a shared lock on the file, which ends with the process.
type note struct {
	name string
	file *os.File
}

// openNote opens the note about a thread, or makes an empty one.
func openNote(dir, name string) (*note, error) {
	file, err := os.OpenFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &note{name, file}, nil
}

// share makes this process a user of the thread, and notes the thread's nice value if no process
// has before.
func (n *note) share(thread int) error {
	if err := flock(n.file, unix.LOCK_SH); err != nil {
		return err
	}
	if _, noted := n.before(); noted {
		return nil
	}
	was, err := nice(thread)
	if err != nil {
		return fmt.Errorf("asking for the priority: %w", err)
	}
	_, err = n.file.WriteAt([]byte(strconv.Itoa(was)), 0)
	return err
}

// before returns the nice value that the thread had before; false if it is not noted.
func (n *note) before() (int, bool) {
	text, err := io.ReadAll(io.NewSectionReader(n.file, 0, 16))
	if err != nil {
		return 0, false
	}
	was, err := strconv.Atoi(string(text))
	return was, err == nil && was >= mostPreferred && was <= 19
}

// leave ends the use of the thread. The last user restores the thread's nice value, and removes the
// note.
func (n *note) leave(thread int) (restored bool, _ error) {
	defer n.file.Close()
	if err := flock(n.file, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil // Another process prefers the thread.
	} else if err != nil {
		return false, err
	}
	was, noted := n.before()
	now, err := nice(thread)
	// A value that another program has set since then stays.
	if err == nil && noted && now == mostPreferred && was != mostPreferred {
		err = setNice(n.name, thread, was)
		restored = err == nil
	}
	if err == nil {
		err = os.Remove(n.file.Name())
	}
	return restored, err
}

// exclusively makes the directory, and runs f while no other process opens or removes notes there.
func exclusively(dir string, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock(lock, unix.LOCK_EX); err != nil {
		return err
	}
	return f()
}

// flock locks a file until it is closed or the process ends.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// setNice sets the nice value of a thread.
func setNice(name string, thread, value int) error {
	if err := unix.Setpriority(unix.PRIO_PROCESS, thread, value); err != nil {
		return fmt.Errorf("setting the priority of %s to %d: %w", name, value, err)
	}
	return nil
}

// nice is the nice value of a thread: the system call returns 20 less that.
func nice(thread int) (int, error) {
	value, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	return 20 - value, err
}

// kernelThread is the number of a thread of the kernel.
func kernelThread(name string) (int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil || strings.TrimSuffix(string(text), "\n") != name {
			continue // it may have ended
		}
		// A process may have the name too, but has a program.
		if _, err := os.Readlink(filepath.Join(filepath.Dir(file), "exe")); errors.Is(err, fs.ErrNotExist) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("looking for %s: %w", name, ErrUnseen)
}
