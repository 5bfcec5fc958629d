package machine

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
)

// Namespace is the network namespace that the ports are in.
type Namespace struct {
	handle netns.NsHandle
	Inode  uint64
}

// CurrentNamespace is the network namespace of the calling thread.
func CurrentNamespace() (*Namespace, error) {
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
	return &Namespace{here, inode}, nil
}

// Do runs f on a thread of its own in the namespace. In a pod every thread is in
// it already; only where a program works in several namespaces is it changed,
// which takes CAP_SYS_ADMIN.
func (n *Namespace) Do(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		result <- func() error {
			here, err := CurrentNamespace()
			if err != nil {
				return err
			}
			here.Close()
			if here.Inode != n.Inode {
				if err := netns.Set(n.handle); err != nil {
					return fmt.Errorf("entering the network namespace of the ports: %w", err)
				}
			}
			return f()
		}()
	}()
	return <-result
}

// Close releases the namespace.
func (n *Namespace) Close() error { return n.handle.Close() }
