package dut

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// isolatedEnv holds the namespace that an isolated process came from.
const isolatedEnv = "NODROP_ISOLATED_FROM"

// Isolate puts the whole process into a network namespace of its own, so that
// test frames never meet the machine's network. A namespace belongs to threads,
// and a running Go program has many; so the program executes itself anew from
// one thread that has moved, with the same process ID, arguments and files.
// Call it first: in the isolated process it returns, in the other it does not.
// It needs root. The namespace vanishes with the process.
func Isolate() error {
	here, err := namespaceID()
	if err != nil {
		return fmt.Errorf("looking at the network namespace: %w", err)
	}
	if from := os.Getenv(isolatedEnv); from != "" && from != here {
		// Programs that this one starts decide for themselves.
		if err := os.Unsetenv(isolatedEnv); err != nil {
			return fmt.Errorf("cleaning the environment: %w", err)
		}
		return setUpLoopback()
	}
	runtime.LockOSThread()
	// The thread must not go back to the scheduler once it has moved.
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("making a network namespace: %w: run it as root (sudo)", err)
	}
	if err := os.Setenv(isolatedEnv, here); err != nil {
		return fmt.Errorf("executing itself in a new network namespace: %w", err)
	}
	err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	return fmt.Errorf("executing itself in a new network namespace: %w", err)
}

// namespaceID is the inode of the calling thread's network namespace.
func namespaceID() (string, error) {
	var s unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &s); err != nil {
		return "", err
	}
	return strconv.FormatUint(s.Ino, 10), nil
}

func setUpLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("bringing up the loopback interface: %w", err)
	}
	return nil
}
