package xdp

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/netif"
)

// namespace is the network namespace that the ports are in.
type namespace struct {
	handle netns.NsHandle
	inode  uint64
}

// currentNamespace is the network namespace of the calling thread.
func currentNamespace() (*namespace, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("opening the network namespace: %w", err)
	}
	inode, err := netif.Inode(int(here))
	if err != nil {
		here.Close()
		return nil, fmt.Errorf("identifying the network namespace: %w", err)
	}
	return &namespace{here, inode}, nil
}

// do runs f on a thread of its own in the namespace. In a pod every thread is in
// it already; only where a program works in several namespaces is it changed,
// which takes CAP_SYS_ADMIN.
func (n *namespace) do(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		result <- func() error {
			here, err := currentNamespace()
			if err != nil {
				return err
			}
			here.close()
			if here.inode != n.inode {
				if err := netns.Set(n.handle); err != nil {
					return fmt.Errorf("entering the network namespace of the ports: %w", err)
				}
			}
			return f()
		}()
	}()
	return <-result
}

func (n *namespace) close() error { return n.handle.Close() }
