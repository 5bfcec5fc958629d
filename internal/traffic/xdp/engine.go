package xdp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// Options configure an engine and its ports.
type Options struct {
	// Host is the name of the machine, for the report.
	Host string
	// Ports that the engine owns, at least one.
	Ports []Port
	// DeviceProcessors are the processors on which a virtual device takes frames from the
	// ports, and on which the engine sends nothing. If empty, the device shares the
	// tester's processors, or is no software on this machine.
	DeviceProcessors []int
	// Together is the reason, for the report, why a virtual device has no processors of
	// its own; empty if it has, or if there is no virtual device.
	Together string
	// Capture sets which received frames of each trial are kept in its measurement. It
	// slows down the receiving of every frame.
	Capture traffic.Capture
}

// Port is an interface of the network namespace in which New is called.
type Port struct {
	// Name of the port in the bed.
	Name string
	// Interface behind it.
	Interface string
	// SpeedBitsPerSecond is the nominal speed.
	SpeedBitsPerSecond int64
	// Addresses that the interface gets while the engine has it: the kernel
	// answers ARP and neighbor discovery for them.
	Addresses []netip.Prefix
	// VLANs are the tags of the network that the addresses are in; none for an untagged
	// one. ARP, neighbor discovery and membership reports have them, and what comes back
	// is taken with them only.
	VLANs frame.VLANs
	// Transmit forces a transmit path. Without it the port sends live frames where it can,
	// and through a packet socket elsewhere.
	Transmit Transmit
	// Senders is the number of CPUs that send on the port at the same time, at most
	// MaxSenders; 0 means 1. Each sends some of the port's streams, in a transmit queue of
	// its own where the driver has one per CPU. The port has fewer senders than that where
	// it has fewer streams or transmit queues, or where the tester may use fewer CPUs.
	Senders int
}

// Engine implements traffic.Generator on interfaces of this machine.
type Engine struct {
	options Options
	netns   *machine.Namespace
	netlink *netlink.Handle
	// card reads the counters of the ports' cards.
	card  cardReader
	ports ports
	epoch uint16
	// number counts the trials, and is never 0 in one.
	number uint64
	armed  bool
	trial  *trial
	// lastSent is the time at which the sending of the trial before this one ended.
	lastSent int64
	// sampled is the trial that samples are taken of.
	sampled sampled
	// holes are the numbers that the trial in hand never sent.
	holes *kernel.Holes
}

var (
	_ traffic.Generator        = (*Engine)(nil)
	_ traffic.Armer            = (*Engine)(nil)
	_ traffic.ProgressReporter = (*Engine)(nil)
	_ traffic.Sampler          = (*Engine)(nil)
	_ traffic.GroupMember      = (*Engine)(nil)
	_ traffic.MicroflowCounter = (*Engine)(nil)
)

// New takes the ports: it brings them up, gives them their addresses and
// attaches the receive program. It fails when another program is on a port.
func New(o Options) (_ *Engine, err error) {
	if len(o.Ports) == 0 {
		return nil, errors.New("the engine xdp needs at least one port")
	}
	if err := o.settle(); err != nil {
		return nil, err
	}
	if err := checkCapture(o.Capture); err != nil {
		return nil, err
	}
	e := &Engine{options: o, epoch: uint16(rand.Uint32())}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if e.netns, err = machine.CurrentNamespace(); err != nil {
		return nil, err
	}
	if e.holes, err = kernel.NewHoles(); err != nil {
		return nil, err
	}
	return e, e.netns.Do(func() error {
		if e.netlink, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			return fmt.Errorf("opening netlink: %w", err)
		}
		card, err := ethtool.NewEthtool()
		if err != nil {
			return fmt.Errorf("opening ethtool: %w", err)
		}
		e.card = card
		var names []string
		for _, c := range o.Ports {
			names = append(names, c.Name)
		}
		attached := attachment{namespace: uint32(e.netns.Inode), capture: o.Capture, holes: e.holes, lanes: lanesOf(o.Ports)}
		for i, c := range o.Ports {
			for _, other := range o.Ports[:i] {
				if c.Name == other.Name || c.Interface == other.Interface {
					return fmt.Errorf("port %s (%s) and port %s (%s): names and interfaces must differ", other.Name, other.Interface, c.Name, c.Interface)
				}
			}
			if err := c.Transmit.check(); err != nil {
				return fmt.Errorf("port %s (%s): %w", c.Name, c.Interface, err)
			}
			if c.Senders < 0 || c.Senders > MaxSenders {
				return fmt.Errorf("port %s (%s): %d senders: allowed are 1 to %d", c.Name, c.Interface, c.Senders, MaxSenders)
			}
			e.ports = append(e.ports, newPort(c, names, attached, card))
		}
		if err := e.ports.open(e.netlink); err != nil {
			return err
		}
		return e.place()
	})
}

// Clock implements traffic.Generator.
func (e *Engine) Clock() traffic.Clock { return traffic.RealClock{} }

// Configure implements traffic.Generator.
func (e *Engine) Configure(ctx context.Context, streams []traffic.Stream) error {
	if err := e.Stop(ctx); err != nil {
		return err
	}
	e.trial, e.armed = nil, false
	e.sampled.set(nil, 0, nil)
	tx, rx := make([][]traffic.Stream, len(e.ports)), make([][]traffic.Stream, len(e.ports))
	seen, sending := map[uint16]bool{}, 0
	for _, s := range streams {
		if err := kernel.CheckStream(s); err != nil {
			return err
		}
		if seen[s.ID] {
			return fmt.Errorf("stream %d is configured twice", s.ID)
		}
		seen[s.ID] = true
		for i, p := range e.ports {
			if s.TxPort == p.Name {
				if err := p.send.checkTx(s); err != nil {
					return err
				}
				tx[i] = append(tx[i], s)
				sending++
			}
			if slices.Contains(s.RxPorts, p.Name) {
				rx[i] = append(rx[i], s)
			}
		}
	}
	bodies, err := kernel.BodiesOf(streams)
	if err != nil {
		return err
	}
	return e.netns.Do(func() error {
		if err := e.place(); err != nil {
			return err
		}
		for i, p := range e.ports {
			if err := p.checkFarEnd(tx[i]); err != nil {
				return fmt.Errorf("port %s: %w", p.Name, err)
			}
			if err := p.configure(tx[i], rx[i], sending, bodies, e.number); err != nil {
				return fmt.Errorf("configuring port %s (%s): %w", p.Name, p.Interface, err)
			}
			if err := p.send.openSockets(); err != nil {
				return err
			}
		}
		return nil
	})
}

// place chooses the CPUs of the senders.
func (e *Engine) place() error {
	cpus, err := e.options.processors()
	if err != nil {
		return err
	}
	e.ports.place(cpus)
	return nil
}

// Close implements traffic.Generator.
func (e *Engine) Close() error {
	errs := []error{e.Stop(context.Background())}
	e.sampled.set(nil, 0, nil)
	if e.netns == nil {
		return errors.Join(errs...)
	}
	errs = append(errs, e.netns.Do(func() error {
		var errs []error
		for _, p := range e.ports {
			errs = append(errs, p.close())
		}
		return errors.Join(errs...)
	}))
	e.ports = nil
	if e.holes != nil {
		errs = append(errs, e.holes.Close())
		e.holes = nil
	}
	if e.netlink != nil {
		e.netlink.Close()
		e.netlink = nil
	}
	if e.card != nil {
		e.card.Close()
		e.card = nil
	}
	errs = append(errs, e.netns.Close())
	e.netns = nil
	return errors.Join(errs...)
}
