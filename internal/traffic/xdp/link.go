package xdp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
)

// linkWait is the time for which Start waits for the link of a port. A NIC negotiates it for
// some seconds after it was brought up.
const linkWait = 15 * time.Second

// waitLink waits until the port has a link.
func (p *port) waitLink(ctx context.Context, nl *netlink.Handle) error {
	up := func() (bool, error) {
		l, err := nl.LinkByIndex(p.index)
		if err != nil {
			return false, fmt.Errorf("port %s: looking up the interface %s: %w", p.Name, p.Interface, err)
		}
		return l.Attrs().Flags&net.FlagRunning != 0, nil
	}
	if ok, err := up(); ok || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, linkWait)
	defer cancel()
	done, events := make(chan struct{}), make(chan netlink.LinkUpdate, 64)
	defer unsubscribe(done, events)
	if err := netlink.LinkSubscribe(events, done); err != nil {
		return fmt.Errorf("watching the links: %w", err)
	}
	for {
		if ok, err := up(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("port %s (%s) has no link: check the cable, or that the other end is up: %w", p.Name, p.Interface, ctx.Err())
		case _, ok := <-events:
			if !ok {
				return errors.New("watching the links: the kernel ended it")
			}
		}
	}
}

// unsubscribe ends a subscription of the netlink library, which may be about to
// put one more event into its channel before it closes that.
func unsubscribe[T any](done chan struct{}, events <-chan T) {
	close(done)
	go func() {
		for range events {
		}
	}()
}
