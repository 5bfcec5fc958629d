package dut

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
)

// isolatedEnv holds the namespace that an isolated process came from: its inode and the
// number of an open file.
const isolatedEnv = "NODROP_ISOLATED_FROM"

// Isolate puts the whole process into a network namespace of its own, so that
// test frames never meet the machine's network. A namespace belongs to threads,
// and a running Go program has many; so the program executes itself anew from
// one thread that has moved, with the same process ID, arguments and files.
// Call it first: in the isolated process it returns, in the other it does not.
// It needs root. The namespace vanishes with the process.
//
// It returns the namespace that the process came from.
func Isolate() (netns.NsHandle, error) {
	origin, err := netns.Get()
	if err != nil {
		return netns.None(), fmt.Errorf("looking at the network namespace: %w", err)
	}
	inode, err := netif.Inode(int(origin))
	if err != nil {
		return netns.None(), fmt.Errorf("looking at the network namespace: %w", err)
	}
	here := strconv.FormatUint(inode, 10)
	if from, file, found := strings.Cut(os.Getenv(isolatedEnv), ":"); found && from != here {
		origin.Close()
		return arrive(from, file)
	}
	runtime.LockOSThread()
	// The thread must not go back to the scheduler once it has moved.
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return netns.None(), fmt.Errorf("making a network namespace: %w: run it as root (sudo)", err)
	}
	_, err = unix.FcntlInt(uintptr(origin), unix.F_SETFD, 0) // it stays open
	if err == nil {
		err = os.Setenv(isolatedEnv, here+":"+strconv.Itoa(int(origin)))
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	return netns.None(), fmt.Errorf("executing itself in a new network namespace: %w", err)
}

// arrive prepares the isolated process, and returns the namespace that it came from.
func arrive(from, file string) (netns.NsHandle, error) {
	// Programs that this one starts decide for themselves.
	if err := os.Unsetenv(isolatedEnv); err != nil {
		return netns.None(), fmt.Errorf("cleaning the environment: %w", err)
	}
	origin, err := strconv.Atoi(file)
	if err != nil {
		return netns.None(), fmt.Errorf("%s has the file %q: leave it unset", isolatedEnv, file)
	}
	if is, err := netif.Inode(origin); err != nil || strconv.FormatUint(is, 10) != from {
		return netns.None(), fmt.Errorf("%s names file %d, which is not namespace %s: leave it unset", isolatedEnv, origin, from)
	}
	unix.CloseOnExec(origin)
	return netns.NsHandle(origin), setUpLoopback()
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
