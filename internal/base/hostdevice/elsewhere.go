//go:build linux

package hostdevice

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
)

// isParentElsewhere refuses an interface that a container has a macvlan or the like of.
func isParentElsewhere(s *scene, l netlink.Link) (string, error) {
	if child, found := s.elsewhere[l.Attrs().Index]; found {
		return child + " is made of this interface: stop the container that has it" + another, nil
	}
	return "", nil
}

// childrenElsewhere describes interfaces of other network namespaces by the index of the
// interface of the calling thread's namespace that they are made of. It searches the
// namespaces of processes, and those that "ip netns" and Docker keep.
func childrenElsewhere(namespace uint64) (map[int]string, error) {
	origin, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("looking at the own network namespace: %w", err)
	}
	defer origin.Close()
	children, seen := map[int]string{}, map[uint64]bool{namespace: true}
	for _, pattern := range []string{"/run/netns/*", "/run/docker/netns/*", "/proc/[0-9]*/ns/net"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := childrenIn(file, origin, seen, children); err != nil {
				return nil, fmt.Errorf("looking for interfaces in %s: %w", file, err)
			}
		}
	}
	return children, nil
}

// childrenIn adds the interfaces of one namespace, unless it was seen. A namespace that
// has ended in the meantime, or may not be looked at, has none.
func childrenIn(file string, origin netns.NsHandle, seen map[uint64]bool, children map[int]string) error {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	ns := netns.NsHandle(fd)
	defer ns.Close()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type != unix.NSFS_MAGIC {
		return nil
	}
	number, err := netif.Inode(fd)
	if err != nil || seen[number] {
		return err
	}
	seen[number] = true
	err = netif.In(ns, func() error {
		links, err := netif.Whole(netlink.LinkList)
		if err != nil {
			return err
		}
		// The list gives an identifier to every namespace that it refers to.
		id, err := netlink.GetNetNsIdByFd(int(origin))
		if err != nil || id < 0 {
			return nil
		}
		for _, l := range links {
			if a := l.Attrs(); stacked(l) && a.NetNsID == id {
				children[a.ParentIndex] = fmt.Sprintf("%s %s of another network namespace (%s)", l.Type(), a.Name, file)
			}
		}
		return nil
	})
	if errors.Is(err, unix.EPERM) {
		return nil // it belongs to users of its own
	}
	return err
}
