package xdp

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sync/errgroup"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
)

// ports are the ports of an engine, in the order of its options.
type ports []*port

// named returns the port of a name, or nil.
func (all ports) named(name string) *port {
	i := slices.IndexFunc(all, func(p *port) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// owns reports whether a port of a name is one of the engine.
func (all ports) owns(name string) bool { return all.named(name) != nil }

// holder returns the port that has an address, or nil.
func (all ports) holder(addr netip.Addr) *port {
	for _, p := range all {
		for _, prefix := range p.Addresses {
			if prefix.Addr() == addr {
				return p
			}
		}
	}
	return nil
}

// open takes the interfaces and attaches programs that are loaded side by side. It runs in the namespace of the ports.
func (all ports) open(nl *netlink.Handle) error {
	opening := func(p *port, err error) error {
		if err != nil {
			return fmt.Errorf("opening port %s (%s): %w", p.Name, p.Interface, err)
		}
		return nil
	}
	for _, p := range all {
		if err := p.setUp(nl); err != nil {
			return opening(p, err)
		}
	}
	var loading errgroup.Group
	for _, p := range all {
		loading.Go(func() error { return opening(p, p.load()) })
	}
	if err := loading.Wait(); err != nil {
		return err
	}
	for i, p := range all {
		if err := p.attach(nl, len(all)+i); err != nil {
			return opening(p, err)
		}
	}
	return nil
}

// choose decides for every port how it sends.
func (all ports) choose() error {
	for _, p := range all {
		if err := p.send.choose(); err != nil {
			return err
		}
	}
	return nil
}

// cards describes the card of every port.
func (all ports) cards() ([]*traffic.Card, error) {
	cards := make([]*traffic.Card, len(all))
	for i, p := range all {
		var err error
		if cards[i], err = cardcount.DescribeCard(p.Interface); err != nil {
			return nil, fmt.Errorf("port %s: %w", p.Name, err)
		}
	}
	return cards, nil
}

// checkMembership returns an error if the ports cannot have a membership.
func (all ports) checkMembership(m traffic.Membership) error {
	switch {
	case !all.owns(m.Port):
		return fmt.Errorf("port %s is not one of this engine", m.Port)
	case m.Count < 1 || m.Count > maxGroups:
		return fmt.Errorf("%d groups from %v on %s: want 1 to %d", m.Count, m.Group, m.Port, maxGroups)
	case !m.Group.IsMulticast() || !traffic.Above(m.Group, m.Count-1).IsMulticast():
		return fmt.Errorf("%d groups from %v on %s: not all are multicast addresses", m.Count, m.Group, m.Port)
	case m.Source.IsValid() && (m.Source.Is4() != m.Group.Is4() || m.Source.IsMulticast() || m.Source.IsUnspecified()):
		return fmt.Errorf("source %v of %v on %s: want a sender's address of the same family", m.Source, m.Group, m.Port)
	}
	return nil
}

// batchMost returns the largest number of turns of the program in one batch for the streams of
// some ports. If a batch is longer than the bulk queue of a device, refused frames may leave a
// hole. The receivers of the streams have to know it at once, so they must be ports of the
// same engine.
func (all ports) batchMost(lanes []*lane) uint32 {
	for _, l := range lanes {
		for i, s := range l.port.send.streams {
			if l.slots[i] < 0 {
				continue
			}
			for _, p := range s.RxPorts {
				if !all.owns(p) {
					return batch
				}
			}
		}
	}
	return longBatch
}
