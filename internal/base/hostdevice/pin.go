//go:build linux

package hostdevice

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// pin keeps a network namespace by a mount on a file, as "ip netns" does.
func pin(ns netns.NsHandle, path string) error {
	source := fmt.Sprintf("/proc/self/fd/%d", int(ns))
	mount := func() error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return unix.Mount(source, path, "", unix.MS_BIND, "")
	}
	err := amongLastingMounts(mount)
	if err != nil {
		err = mount()
	}
	if err != nil {
		return fmt.Errorf("keeping a network namespace as %s: %w", path, err)
	}
	return nil
}

// pinned opens a namespace that pin has kept. It is closed where nothing is mounted.
func pinned(path string) netns.NsHandle {
	handle := netns.None()
	open := func() error {
		file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		var fs unix.Statfs_t
		if err := unix.Fstatfs(file, &fs); err != nil || fs.Type != unix.NSFS_MAGIC {
			unix.Close(file)
			return errors.New("nothing is mounted")
		}
		handle = netns.NsHandle(file)
		return nil
	}
	if amongLastingMounts(open) != nil {
		_ = open()
	}
	return handle
}

// unpin ends what pin has begun. It succeeds where nothing is mounted.
func unpin(path string) error {
	unmount := func() error {
		for {
			switch err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); {
			case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
				return nil // it is no mount, or none any more
			case err != nil:
				return fmt.Errorf("unmounting %s: %w", path, err)
			}
		}
	}
	return errors.Join(amongLastingMounts(unmount), unmount())
}

// amongLastingMounts runs f with the mounts that the first process of the machine sees, or
// the first one that may be looked at. A program that was started by "ip netns exec" sees
// mounts of its own, which end with it.
func amongLastingMounts(f func() error) error {
	return onAnotherThread(func() error {
		file, own, err := lastingMounts()
		if err != nil {
			return err
		}
		defer unix.Close(file)
		if !own {
			// What a thread sees can change only where it shares that with no other.
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return err
			}
			if err := unix.Setns(file, unix.CLONE_NEWNS); err != nil {
				return err
			}
		}
		return f()
	})
}

// onAnotherThread runs f on a thread that ends with it. The first thread of a process
// never ends, and what it sees counts as what the process sees.
func onAnotherThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			done <- onAnotherThread(f) // this thread is taken meanwhile
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

// lastingMounts opens the mount namespace of the first process that may be looked at, and
// reports whether it is this thread's own.
func lastingMounts() (file int, own bool, err error) {
	here, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, false, fmt.Errorf("looking at the own mounts: %w", err)
	}
	pids, err := processes()
	if err != nil {
		unix.Close(here)
		return -1, false, err
	}
	for _, pid := range pids {
		file, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // it has ended, or is not ours to look at
		}
		own := netns.NsHandle(file).Equal(netns.NsHandle(here))
		unix.Close(here)
		return file, own, nil
	}
	return here, true, nil
}

// processes are the numbers of all processes, the lowest first.
func processes() ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}
