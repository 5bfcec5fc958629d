package kernelstack

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/netif/card"
	"nodrop.dev/nodrop/internal/workload"
)

// Engine runs workloads with hosts of the kernel.
type Engine struct {
	tester netns.NsHandle
	ports  map[string]workload.Port
	// taken are addresses that no host may have.
	taken map[netip.Addr]bool
	// cards are the interfaces of the ports, whose offloads are off.
	cards []*card.Held
	// usedPorts is the number of TCP ports of each client that requests have used.
	usedPorts int
	// connected is the incast whose hosts ConnectIncast has made; nil for none.
	connected *incast
}

var _ workload.Engine = (*Engine)(nil)

// offloads join or divide segments: with them packets on the link and in counters are others than the ones
// of the device.
var offloads = []string{
	"rx-gro", "rx-lro", "rx-gro-list",
	"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-generic-segmentation", "tx-gso-list",
}

// New returns an engine for ports in the namespace of the calling thread. It needs root. The offloads of the
// ports are off until it is closed: the interfaces of hosts leave segments to them.
func New(ports []workload.Port) (*Engine, error) {
	e := &Engine{ports: map[string]workload.Port{}, taken: map[netip.Addr]bool{}}
	var err error
	if e.tester, err = netns.Get(); err != nil {
		return nil, fmt.Errorf("looking at the own network namespace: %w", err)
	}
	for _, p := range ports {
		e.ports[p.Name] = p
		for _, a := range append(slices.Clone(p.Taken), p.Address.Addr(), p.Gateway) {
			e.taken[a] = true
		}
	}
	err = e.eachPort(func(p workload.Port) error {
		held, err := card.Hold(p.Interface)
		if err != nil {
			return err
		}
		e.cards = append(e.cards, held)
		return held.TurnOff(offloads...)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("turning offloads of the ports off: %w", err), e.Close())
	}
	return e, nil
}

// eachPort calls f for each port in the namespace of the tester.
func (e *Engine) eachPort(f func(workload.Port) error) error {
	return netif.In(e.tester, func() error {
		for _, p := range e.ports {
			if err := f(p); err != nil {
				return fmt.Errorf("interface %s: %w", p.Interface, err)
			}
		}
		return nil
	})
}

// offloadsOn returns the offloads that a port has although they were turned off.
func (e *Engine) offloadsOn() (on []string, _ error) {
	err := netif.In(e.tester, func() error {
		for _, c := range e.cards {
			has, err := c.On(offloads...)
			if err != nil {
				return err
			}
			on = append(on, has...)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("reading offloads of the ports: %w", err)
	}
	slices.Sort(on)
	return slices.Compact(on), err
}

// Close implements workload.Engine: ports have the offloads that they had.
func (e *Engine) Close() error {
	if !e.tester.IsOpen() {
		return nil
	}
	left := e.removeConnected()
	err := netif.In(e.tester, func() (err error) {
		for _, c := range e.cards {
			err = errors.Join(err, c.Restore())
		}
		return err
	})
	e.cards = nil
	if err != nil {
		err = fmt.Errorf("turning offloads of the ports on again: %w", err)
	}
	return errors.Join(left, err, e.tester.Close())
}

// addresses returns addresses for hosts on a port: the highest ones of its network that are free.
func (e *Engine) addresses(p workload.Port, n int, used map[netip.Addr]bool) ([]netip.Addr, error) {
	var all []netip.Addr
	network := p.Address.Masked()
	for a := last(network).Prev(); len(all) < n && network.Contains(a) && a != network.Addr(); a = a.Prev() {
		if !e.taken[a] && !used[a] {
			used[a], all = true, append(all, a)
		}
	}
	if len(all) < n {
		return nil, fmt.Errorf("the network %s of port %s has %d free addresses, and %d hosts need one each: give the port a larger network", network, p.Name, len(all), n)
	}
	return all, nil
}

// last returns the highest address of an IPv4 network.
func last(network netip.Prefix) netip.Addr {
	a := network.Addr().As4()
	for bit := network.Bits(); bit < 32; bit++ {
		a[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(a)
}
