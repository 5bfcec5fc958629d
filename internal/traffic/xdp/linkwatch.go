package xdp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// watch contains what is compared before and after a trial. The device under test is not the
// cause of changes in between.
type watch struct {
	clocks machine.Clocks
	links  []linkState
	strays []strays
}

// watch looks at clocks, links and stray frames. It runs in the namespace of the
// ports.
func (all ports) watch() (w watch, err error) {
	if w.clocks, err = machine.ReadClocks(); err != nil {
		return w, err
	}
	for _, p := range all {
		l, err := linkNow(p.index)
		if err != nil {
			return w, fmt.Errorf("port %s (%s): %w", p.Name, p.Interface, err)
		}
		s, err := p.receive.strays()
		if err != nil {
			return w, err
		}
		w.links, w.strays = append(w.links, l), append(w.strays, s)
	}
	return w, nil
}

// changes adds to a measurement what changed since the trial began. paused has the frames of flow
// control that the card of each port counted.
func (t *trial) changes(all ports, host string, m *traffic.Measurement, paused []traffic.PauseCount) error {
	before := t.watch
	now, err := all.watch()
	if err != nil {
		return err
	}
	m.Notes = append(m.Notes, before.clocks.Notes(now.clocks, host)...)
	for i, p := range all {
		if len(p.send.streams)+len(p.receive.streams) > 0 {
			m.Notes = append(m.Notes, before.links[i].notes(now.links[i], fmt.Sprintf("%s (%s)", p.Name, p.Interface))...)
		}
		strays := now.strays[i].since(before.strays[i])
		strays.stale += p.receive.stragglers
		strays.addTo(m, p.Name)
		addPauses(m, p.Name, strays.pauses, paused[i])
	}
	return nil
}

// linkState is an interface at a moment.
type linkState struct {
	running bool
	// carrierChanges counts how often the link came or went.
	carrierChanges uint32
	counters       []linkCounter
}

// linkCounter is a counter of the interface that never runs backwards.
type linkCounter struct {
	name  string
	value uint64
}

// linkNow reads an interface. The netlink library does not tell how often the
// carrier changed, so the message is asked for here.
func linkNow(index int) (linkState, error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	about := nl.NewIfInfomsg(unix.AF_UNSPEC)
	about.Index = int32(index)
	request.AddData(about)
	messages, err := request.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil {
		return linkState{}, fmt.Errorf("asking for the state of the link: %w", err)
	}
	if len(messages) != 1 {
		return linkState{}, fmt.Errorf("asking for the state of the link: %d answers", len(messages))
	}
	l, err := netlink.LinkDeserialize(nil, messages[0])
	if err != nil {
		return linkState{}, fmt.Errorf("reading the state of the link: %w", err)
	}
	s := linkState{running: l.Attrs().Flags&net.FlagRunning != 0}
	attributes, err := nl.ParseRouteAttrAsMap(messages[0][unix.SizeofIfInfomsg:])
	if err != nil {
		return linkState{}, fmt.Errorf("reading the state of the link: %w", err)
	}
	if a, ok := attributes[unix.IFLA_CARRIER_CHANGES]; ok && len(a.Value) == 4 {
		s.carrierChanges = nl.NativeEndian().Uint32(a.Value)
	}
	if c := l.Attrs().Statistics; c != nil {
		s.counters = []linkCounter{
			{"rx_packets", c.RxPackets}, {"tx_packets", c.TxPackets}, {"rx_bytes", c.RxBytes}, {"tx_bytes", c.TxBytes},
			{"rx_errors", c.RxErrors}, {"tx_errors", c.TxErrors}, {"rx_dropped", c.RxDropped}, {"tx_dropped", c.TxDropped},
			{"rx_missed_errors", c.RxMissedErrors}, {"rx_fifo_errors", c.RxFifoErrors},
		}
	}
	return s, nil
}

// notes describes what happened to a link between two moments.
func (s linkState) notes(end linkState, port string) []traffic.Note {
	note := func(format string, args ...any) []traffic.Note {
		return []traffic.Note{{Kind: traffic.NoteCounter, Text: fmt.Sprintf(format, args...)}}
	}
	switch changes := end.carrierChanges - s.carrierChanges; {
	case s.running && !end.running:
		return note("the link of port %s went down during the trial: check cable, transceiver and the other end", port)
	case changes > 0:
		return note("the link of port %s came or went %d times during the trial: check cable, transceiver and the other end", port, changes)
	}
	for i, c := range s.counters {
		if now := end.counters[i]; now.value < c.value {
			return note("the counter %s of port %s ran backwards during the trial, from %d to %d: its driver or card was reset", c.name, port, c.value, now.value)
		}
	}
	return nil
}

// linkWait is the time for which Start waits for the link of a port. A NIC negotiates it for
// some seconds after it was brought up.
const linkWait = 15 * time.Second

// waitLink waits until the port has a link.
func (d *netdev) waitLink(ctx context.Context, nl *netlink.Handle) error {
	up := func() (bool, error) {
		l, err := nl.LinkByIndex(d.index)
		if err != nil {
			return false, fmt.Errorf("port %s: looking up the interface %s: %w", d.Name, d.Interface, err)
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
			return fmt.Errorf("port %s (%s) has no link: check the cable, or that the other end is up: %w", d.Name, d.Interface, ctx.Err())
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
