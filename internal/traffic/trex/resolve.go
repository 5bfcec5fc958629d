package trex

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// askEvery is the wait for an answer before the request is repeated
	// (RFC 4861 section 10, RETRANS_TIMER).
	askEvery = time.Second
	// fetchEvery is the interval at which captured frames are fetched.
	fetchEvery = 20 * time.Millisecond
	// captureLimit bounds the capture, and one fetch of it, in frames.
	captureLimit = 100
)

// Resolve implements traffic.Generator. The server does not ask by itself when it
// gets an address, so Resolve pushes a request and captures the answer.
func (e *Engine) Resolve(ctx context.Context, portName string, addr netip.Addr) (traffic.MAC, error) {
	p := e.server.named(portName)
	if p == nil {
		return traffic.MAC{}, fmt.Errorf("port %s is not one of this engine", portName)
	}
	if other := e.server.holder(addr); other != nil {
		return other.mac, nil // both ends are ports of this engine
	}
	src, ok := p.neighbours.source(addr)
	if !ok {
		return traffic.MAC{}, fmt.Errorf("port %s has no address of the family of %v to ask from: give it one", p.Name, addr)
	}
	if err := e.Stop(ctx); err != nil {
		return traffic.MAC{}, err
	}
	if len(p.listed) > 0 { // a port with a running profile cannot enter service mode, even if it sends nothing
		e.armed = nil
		if err := p.clean(ctx); err != nil {
			return traffic.MAC{}, err
		}
	}
	if err := p.stopAnnouncing(ctx); err != nil {
		return traffic.MAC{}, err
	}
	mac, err := p.resolve(ctx, e.server.clock, src, addr)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return mac, errors.Join(err, p.announce(after, e.streams.all))
}

// resolve asks on the port, which is at rest, and records the neighbor that answered.
func (p *port) resolve(ctx context.Context, clock traffic.Clock, src, addr netip.Addr) (traffic.MAC, error) {
	if err := p.service(ctx, true); err != nil {
		return traffic.MAC{}, fmt.Errorf("putting port %s into service mode: %w", p.Name, err)
	}
	mac, err := p.ask(ctx, clock, src, addr)
	if err == nil && addr.Is4() {
		err = p.setL3(ctx, src, addr, mac)
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err == nil {
		p.neighbours.add(addr, mac)
	}
	return mac, errors.Join(err, p.service(after, false))
}

// capture is the answer of the capture command.
type capture struct {
	ID      int `json:"capture_id"`
	Packets []struct {
		Binary []byte `json:"binary"`
	} `json:"pkts"`
}

// ask captures on the port, and asks until the neighbor answers or ctx ends.
func (p *port) ask(ctx context.Context, clock traffic.Clock, src, addr netip.Addr) (_ traffic.MAC, err error) {
	question, filter := arpRequest(p.mac, src, addr), "arp"
	if addr.Is6() {
		question, filter = neighbourSolicitation(p.mac, src, addr), "icmp6"
	}
	question = p.VLANs.Tag(question)
	if len(p.VLANs) > 0 {
		// Each vlan lets one tag more stand before what follows it.
		filter = fmt.Sprintf("%s or (vlan and %[1]s) or (vlan and %[1]s)", filter)
	}
	var c capture
	err = p.client.call(ctx, "capture", params{
		"command": "start", "limit": captureLimit, "mode": "fixed", "tx": []int{}, "rx": []int{p.index()},
		"filter": filter, "endpoint": "", "snaplen": 0,
	}, &c)
	if err != nil {
		return traffic.MAC{}, fmt.Errorf("capturing on port %s: %w", p.Name, err)
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_, late := p.client.batch(after, []call{
			{"capture", params{"command": "stop", "capture_id": c.ID}},
			{"capture", params{"command": "remove", "capture_id": c.ID}},
		})
		err = errors.Join(err, late)
	}()
	var asked time.Time
	for {
		if now := clock.Now(); now.Sub(asked) >= askEvery {
			asked = now
			err := p.client.call(ctx, "push_pkts", p.owned(params{"force": false, "ipg_usec": 1, "pkts": []params{{
				"binary": base64.StdEncoding.EncodeToString(question), "use_port_dst_mac": false, "use_port_src_mac": false,
			}}}), nil)
			if err != nil {
				return traffic.MAC{}, unresolved(ctx, p, addr, err)
			}
		}
		var got capture
		err := p.client.call(ctx, "capture", params{"command": "fetch", "capture_id": c.ID, "pkt_limit": captureLimit, "snaplen": 0}, &got)
		if err != nil {
			return traffic.MAC{}, unresolved(ctx, p, addr, err)
		}
		for _, packet := range got.Packets {
			if mac, ok := p.neighbours.answer(packet.Binary, addr); ok {
				return mac, nil
			}
		}
		if err := clock.Sleep(ctx, fetchEvery); err != nil {
			return traffic.MAC{}, unresolved(ctx, p, addr, err)
		}
	}
}

// unresolved is the error of a neighbor that did not answer before ctx ended,
// or err.
func unresolved(ctx context.Context, p *port, addr netip.Addr, err error) error {
	if ctx.Err() != nil {
		return &traffic.UnresolvedError{Port: p.Name, Addr: addr}
	}
	return err
}
