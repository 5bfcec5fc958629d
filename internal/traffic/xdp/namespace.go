package xdp

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is the network namespace that the ports are in.
type namespace struct {
	file  *os.File
	inode uint64
}

const threadNamespace = "/proc/thread-self/ns/net"

// currentNamespace is the network namespace of the calling thread.
func currentNamespace() (*namespace, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f, err := os.Open(threadNamespace)
	if err != nil {
		return nil, fmt.Errorf("opening the network namespace: %w", err)
	}
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		f.Close()
		return nil, fmt.Errorf("identifying the network namespace: %w", err)
	}
	return &namespace{file: f, inode: s.Ino}, nil
}

// do runs f on a thread of its own in the namespace. In a pod every thread is in
// it already; only where a program works in several namespaces is it changed,
// which takes CAP_SYS_ADMIN.
func (n *namespace) do(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		result <- func() error {
			var s unix.Stat_t
			if err := unix.Stat(threadNamespace, &s); err != nil {
				return fmt.Errorf("identifying the network namespace: %w", err)
			}
			if s.Ino != n.inode {
				if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
					return fmt.Errorf("entering the network namespace of the ports: %w", err)
				}
			}
			return f()
		}()
	}()
	return <-result
}
