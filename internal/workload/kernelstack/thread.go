package kernelstack

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// thread runs functions one after the other in a thread of the kernel that is in the network namespace of a host and has a
// table of open files of its own. The kernel limits the files of a table: hosts on one machine do not share the limit.
type thread struct {
	calls chan func()
	ended chan struct{}
}

// newThread starts a thread.
func newThread(ns netns.NsHandle) (*thread, error) {
	t := &thread{calls: make(chan func()), ended: make(chan struct{})}
	// The runtime polls in any thread, so that its files have to be there before they are copied.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.Close()
	w.Close()
	begun := make(chan error)
	go outsideOfMain(func() {
		defer close(t.ended)
		err := enter(ns)
		begun <- err
		if err != nil {
			return
		}
		for f := range t.calls {
			f()
		}
	})
	return t, <-begun
}

// outsideOfMain runs f in a locked thread that ends with f. The main thread of a process never ends.
func outsideOfMain(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		outsideOfMain(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// enter moves the calling thread to a network namespace, and gives it a table of open files of its own.
func enter(ns netns.NsHandle) error {
	if err := netns.Set(ns); err != nil {
		return fmt.Errorf("entering a network namespace: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return fmt.Errorf("making a table of open files: %w", err)
	}
	const folder = "/proc/thread-self/fd"
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("reading the table of open files: %w", err)
	}
	for _, f := range files {
		// Files that others close must not stay open here, but for the event queues of the runtime.
		fd, err := strconv.Atoi(f.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if target, err := os.Readlink(folder + "/" + f.Name()); err == nil && !strings.HasPrefix(target, "anon_inode:[event") {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// do runs f in the thread, and waits for its end.
func (t *thread) do(f func() error) (err error) {
	done := make(chan struct{})
	t.calls <- func() {
		defer close(done)
		err = f()
	}
	<-done
	return err
}

// close ends the thread. The kernel closes the files of its table.
func (t *thread) close() {
	if t != nil {
		close(t.calls)
		<-t.ended
	}
}
