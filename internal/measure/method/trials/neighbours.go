package trials

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/membership"
)

// Neighbours are the hardware addresses of a run.
type Neighbours struct {
	// Sources are the MAC addresses of the tester's ports, by port name.
	Sources map[string]traffic.MAC
	// NextHops are the destination MAC addresses of the streams, by stream ID.
	NextHops map[uint16]traffic.MAC
	// Unresolved are the neighbors that did not answer.
	Unresolved []*traffic.UnresolvedError
}

// Resolve finds the hardware addresses of all neighbors: gateways by ARP or
// neighbor discovery on every port that sends or receives, and receivers on the
// sender's own layer-2 network likewise, so that bridges learn where they are.
// Each is given timeout. A neighbor that does not answer is not an error here:
// frames are sent all the same, to the receiving port's own address, and what
// comes back decides.
func Resolve(ctx context.Context, gen traffic.Generator, p plan.Plan, info traffic.Info, timeout time.Duration) (*Neighbours, error) {
	n := &Neighbours{Sources: map[string]traffic.MAC{}, NextHops: map[uint16]traffic.MAC{}}
	for _, port := range info.Ports {
		n.Sources[port.Name] = port.MAC
	}
	type question struct {
		port int
		addr netip.Addr
	}
	answers := map[question]*traffic.MAC{}
	ask := func(port int, addr netip.Addr) (*traffic.MAC, error) {
		q := question{port, addr}
		if mac, ok := answers[q]; ok {
			return mac, nil
		}
		mac, err := resolve(ctx, gen, p.Ports[port].Name, addr, timeout)
		var silent *traffic.UnresolvedError
		switch {
		case errors.As(err, &silent):
			silent.VLAN = p.Ports[port].VLANs.String()
			n.Unresolved = append(n.Unresolved, silent)
			answers[q] = nil
		case err != nil:
			return nil, err
		default:
			answers[q] = &mac
		}
		return answers[q], nil
	}
	for _, s := range p.Streams {
		for _, port := range append([]int{s.Tx}, s.Rx...) {
			if _, ok := n.Sources[p.Ports[port].Name]; !ok {
				return nil, fmt.Errorf("the generator has no port %s: it must own every port of the bed: %w", p.Ports[port].Name, traffic.ErrUnsupported)
			}
		}
		if group := s.Headers.DstIP; group.IsMulticast() {
			n.NextHops[s.ID] = membership.MAC(group)
			continue
		}
		if s.Headers.DstMAC != (traffic.MAC{}) || !s.NextHop().IsValid() {
			n.NextHops[s.ID] = s.Headers.DstMAC
			continue
		}
		mac, err := ask(s.Tx, s.NextHop())
		if err != nil {
			return nil, err
		}
		if mac == nil {
			source := n.Sources[p.Ports[s.Rx[0]].Name]
			mac = &source
		}
		n.NextHops[s.ID] = *mac
		// The receivers ask too: it tells the device where they are.
		for _, port := range s.Rx {
			if gateway := p.Ports[port].Gateway(s.NextHop().Is6()); gateway.IsValid() {
				if _, err := ask(port, gateway); err != nil {
					return nil, err
				}
			}
		}
	}
	return n, nil
}

func resolve(ctx context.Context, gen traffic.Generator, port string, addr netip.Addr, timeout time.Duration) (traffic.MAC, error) {
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	mac, err := gen.Resolve(asking, port, addr)
	if ctx.Err() != nil {
		return mac, context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = &traffic.UnresolvedError{Port: port, Addr: addr}
	}
	if err != nil {
		return mac, fmt.Errorf("resolving %s on %s: %w", addr, port, err)
	}
	return mac, nil
}
