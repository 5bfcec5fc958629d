// Package netif waits for network interfaces by listening to the kernel's
// events: others make a traffic pod's NICs and a device's links. It also runs
// functions in the network namespaces of interfaces, and lets a processor take in what an
// interface receives.
package netif

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
)

// Wait returns when the network namespace of the calling thread has all these
// interfaces and ready accepts each of them; a nil ready accepts any. When ctx
// ends before, the error names those that are missing.
func Wait(ctx context.Context, names []string, ready func(netlink.Link) error) error {
	events := make(chan netlink.LinkUpdate, 64)
	done := make(chan struct{})
	failed := make(chan error, 1)
	err := netlink.LinkSubscribeWithOptions(events, done, netlink.LinkSubscribeOptions{
		ErrorCallback: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	if err != nil {
		return fmt.Errorf("listening for network interfaces: %w", err)
	}
	defer drain(events)
	defer close(done)
	for {
		// Subscribe first and list afterwards, so that no change in between is missed.
		problems := check(names, ready)
		if len(problems) == 0 {
			return nil
		}
		select {
		case _, open := <-events:
			if !open {
				return errors.New("listening for network interfaces: the kernel closed the socket")
			}
		case err := <-failed:
			return fmt.Errorf("listening for network interfaces: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for network interfaces: %s: %w", strings.Join(problems, "; "), ctx.Err())
		}
	}
}

func check(names []string, ready func(netlink.Link) error) (problems []string) {
	for _, name := range names {
		link, err := netlink.LinkByName(name)
		switch {
		case errors.As(err, &netlink.LinkNotFoundError{}):
			problems = append(problems, fmt.Sprintf("there is no interface %s", name))
		case err != nil:
			problems = append(problems, fmt.Sprintf("reading interface %s: %v", name, err))
		case ready != nil:
			if err := ready(link); err != nil {
				problems = append(problems, fmt.Sprintf("interface %s %v", name, err))
			}
		}
	}
	return problems
}

// Running accepts an interface that is up and has a carrier, which a veth has
// when both of its ends are up.
func Running(link netlink.Link) error {
	switch state := link.Attrs().OperState; state {
	case netlink.OperUp, netlink.OperUnknown:
		return nil
	default:
		return fmt.Errorf("is %s", state)
	}
}

// drain lets the subscription's goroutine end.
func drain(events <-chan netlink.LinkUpdate) {
	go func() {
		for range events {
		}
	}()
}
