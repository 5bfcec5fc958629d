package xdpbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// counter is the bare program on an interface, which counts what it receives.
type counter struct {
	objects  bareObjects
	attached link.Link
}

func newCounter(name string) (_ *counter, err error) {
	at, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", name, err)
	}
	spec, err := loadBare()
	if err != nil {
		return nil, fmt.Errorf("reading the bare program: %w", err)
	}
	if err := spec.Variables["port_ifindex"].Set(uint32(at.Index)); err != nil {
		return nil, fmt.Errorf("preparing the bare program: %w", err)
	}
	c := &counter{}
	if err := spec.LoadAndAssign(&c.objects, nil); err != nil {
		return nil, fmt.Errorf("loading the bare program: %w", err)
	}
	c.attached, err = link.AttachXDP(link.XDPOptions{Program: c.objects.Bare, Interface: at.Index, Flags: link.XDPDriverMode})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attaching the bare program to %s: %w", name, err), c.objects.Close())
	}
	return c, nil
}

func (c *counter) close() error { return errors.Join(c.attached.Close(), c.objects.Close()) }

// received is how many frames came so far.
func (c *counter) received() (n uint64, err error) {
	var all []uint64
	if err := c.objects.Received.Lookup(uint32(0), &all); err != nil {
		return 0, fmt.Errorf("reading the frames of the bare program: %w", err)
	}
	for _, v := range all {
		n += v
	}
	return n, nil
}

// liveFrames is BPF_F_TEST_XDP_LIVE_FRAMES.
const liveFrames = 1 << 1

// send runs the bare program on live frames for a time, in runs of a million, and
// returns how long it took.
func (c *counter) send(ctx context.Context, d time.Duration) (time.Duration, error) {
	run := &ebpf.RunOptions{Data: make([]byte, frameSize-4), Repeat: 1_000_000, Flags: liveFrames, BatchSize: 64}
	begin := time.Now()
	for time.Since(begin) < d && ctx.Err() == nil {
		if _, err := c.objects.Bare.Run(run); err != nil {
			return 0, fmt.Errorf("running the bare program: %w", err)
		}
	}
	return time.Since(begin), ctx.Err()
}
