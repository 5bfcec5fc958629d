package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// attachment contains the programs of a port, which are attached to its interface.
type attachment struct {
	*netdev
	// namespace is the inode of the ports' network namespace. With it, capture and holes the
	// programs are loaded. holes are the numbers that the trial in hand never sent.
	namespace uint32
	capture   traffic.Capture
	holes     *kernel.Holes
	// lanes is the highest number of lanes of all senders that run the programs.
	lanes int

	programs *kernel.Programs
	link     link.Link
	// generic describes how the port receives by generic XDP; empty where the driver runs
	// the program.
	generic string
}

// load loads programs for the port.
func (a *attachment) load(room kernel.Room, frags bool) (*kernel.Programs, error) {
	return kernel.Load(a.index, a.namespace, room, frags, a.capture, a.holes)
}

// attach attaches the receive program in the driver, as one that takes frames in several
// buffers where the driver allows it, or else in front of the kernel's stack.
func (a *attachment) attach() error {
	var first error
	for _, way := range []struct {
		frags bool
		flags link.XDPAttachFlags
	}{
		{frags: true, flags: link.XDPDriverMode},
		{flags: link.XDPDriverMode},
		{flags: link.XDPGenericMode},
	} {
		if a.programs.Frags != way.frags {
			if err := a.reload(way.frags); err != nil {
				return err
			}
		}
		l, err := link.AttachXDP(link.XDPOptions{Program: a.programs.Port, Interface: a.index, Flags: way.flags})
		if err == nil {
			a.link = l
			if way.flags == link.XDPGenericMode {
				a.generic = byGenericXDP(a.driver, first)
				a.notes = append(a.notes, "frames are received "+a.generic)
			}
			return nil
		}
		if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST) {
			return a.inUse(err)
		}
		if first == nil {
			first = err
		}
	}
	return fmt.Errorf("attaching the receive program: %w", first)
}

// reload puts programs that take frames in several buffers, or do not, in place of those
// that are attached nowhere.
func (a *attachment) reload(frags bool) error {
	other, err := a.load(a.programs.Room, frags)
	if err != nil {
		return err
	}
	old := a.programs
	a.programs = other
	return old.Close()
}

// grow loads programs with more room and puts them in place of the present ones, which it
// returns.
func (a *attachment) grow(want kernel.Room) (old *kernel.Programs, err error) {
	bigger, err := a.load(a.programs.Room.With(want.Rounded()), a.programs.Frags)
	if err != nil {
		return nil, err
	}
	if err := a.link.Update(bigger.Port); err != nil {
		bigger.Close()
		return nil, fmt.Errorf("replacing the receive program: %w", err)
	}
	old, a.programs = a.programs, bigger
	return old, nil
}

// lanesOf returns the highest number of lanes of all senders of some ports.
func lanesOf(ports []Port) (n int) {
	for _, c := range ports {
		n += max(1, c.Senders)
	}
	return n
}
