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
	loop     bareLoop
	objects  bareObjects
	attached link.Link
}

// bareLoop describes what a bare loop does with frames before it redirects them.
type bareLoop struct {
	// batch is the number of frames that the kernel hands to the device at once.
	batch uint32
	// writes reports whether frames are cut to their length and written, as every sender of
	// test frames has to.
	writes bool
}

// newCounter attaches the program to an interface. Loop is for one that sends.
func newCounter(name string, loop bareLoop) (_ *counter, err error) {
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
	if err := spec.Variables["writes"].Set(loop.writes); err != nil {
		return nil, fmt.Errorf("preparing the bare program: %w", err)
	}
	c := &counter{loop: loop}
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

// received returns the number of frames that have arrived so far.
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

// length returns the length of the frames that the kernel makes, in bytes without FCS.
func (c *counter) length() int {
	if c.loop.writes {
		return frameSize - 4 + 1 // the program cuts a byte
	}
	return frameSize - 4
}

// liveFrames is BPF_F_TEST_XDP_LIVE_FRAMES.
const liveFrames = 1 << 1

// send runs the bare program on live frames for a time, in runs of a million, and
// returns how long it took.
func (c *counter) send(ctx context.Context, d time.Duration) (time.Duration, error) {
	run := &ebpf.RunOptions{Data: make([]byte, c.length()), Repeat: 1_000_000, Flags: liveFrames, BatchSize: c.loop.batch}
	begin := time.Now()
	for time.Since(begin) < d && ctx.Err() == nil {
		if _, err := c.objects.Bare.Run(run); err != nil {
			return 0, fmt.Errorf("running the bare program: %w", err)
		}
	}
	return time.Since(begin), ctx.Err()
}
