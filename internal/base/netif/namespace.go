package netif

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Inode of an open file. That of a network namespace identifies it until the machine
// starts anew.
func Inode(file int) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Fstat(file, &s); err != nil {
		return 0, fmt.Errorf("reading the inode of file %d: %w", file, err)
	}
	return s.Ino, nil
}

// In runs f on a thread in this network namespace, or in whichever f enters when ns is
// closed. The thread then goes back; one that cannot is thrown away, because its
// namespace must never reach other goroutines.
func In(ns netns.NsHandle, f func() error) error {
	done := make(chan error, 1)
	go func() {
		// A thread that is still locked ends with its goroutine.
		runtime.LockOSThread()
		home, err := netns.Get()
		if err != nil {
			done <- fmt.Errorf("looking at the own network namespace: %w", err)
			return
		}
		defer home.Close()
		if ns.IsOpen() {
			err = netns.Set(ns)
		}
		if err == nil {
			err = f()
		} else {
			err = fmt.Errorf("entering a network namespace: %w", err)
		}
		if netns.Set(home) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}
