package trex

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic"
)

// profile is the set of streams of a port that a trial sends: the default.
const profile = "_"

// States of a port. PCAP_TX and others do not come up: nothing here asks for them.
const (
	stateIdle    = "IDLE"
	stateStreams = "STREAMS"
	stateSending = "TX"
	statePaused  = "PAUSE"
)

// port is a port of the server that this engine has.
type port struct {
	Port
	systemPort
	// client is the connection to the server.
	client *client
	mac    traffic.MAC
	// handler proves ownership in every call that changes the port. context is the one of all ports together in
	// mode ASTF, and empty in mode STL.
	handler, context string
	// promiscuous is the last setting of the port.
	promiscuous bool
	neighbours  neighbours
	// listed are the profiles of the listing that are on the port.
	listed []string
}

// newPort finds a port in the server's list by its index.
func newPort(o Port, s system, c *client) (*port, error) {
	for _, sp := range s.Ports {
		if sp.Index != o.Index {
			continue
		}
		mac, err := net.ParseMAC(sp.MAC)
		if err != nil || len(mac) != 6 {
			return nil, fmt.Errorf("port %s: TRex returned %q as its hardware address", o.Name, sp.MAC)
		}
		p := &port{Port: o, systemPort: sp, client: c, mac: traffic.MAC(mac)}
		p.neighbours = neighbours{Port: &p.Port, mac: p.mac}
		return p, nil
	}
	return nil, fmt.Errorf("port %s: TRex has no port %d: it has %d, counted from 0", o.Name, o.Index, len(s.Ports))
}

// index is the port's number at the server. Both embedded structs have it.
func (p *port) index() int { return p.Port.Index }

// owned adds what a call needs that changes the port.
func (p *port) owned(more params) params {
	out := params{"port_id": p.index(), "handler": p.handler}
	maps.Copy(out, more)
	return out
}

// streams adds what a call needs that is about the port's streams.
func (p *port) streams(more params) params {
	return p.profile(profile, more)
}

// profile adds what a call needs that is about the streams of a profile.
func (p *port) profile(id string, more params) params {
	out := p.owned(more)
	out["profile_id"] = id
	return out
}

// status is the answer of get_port_status, without unused fields.
type status struct {
	// State of the requested profile, and of all profiles of the port, which is TX also
	// while the port announces its addresses.
	State string `json:"state_profile"`
	Port  string `json:"state"`
	Attr  struct {
		Link struct {
			Up bool `json:"up"`
		} `json:"link"`
		Promiscuous struct {
			Enabled bool `json:"enabled"`
		} `json:"promiscuous"`
	} `json:"attr"`
}

// status reads the state of the port and of the streams of a trial.
func (p *port) status(ctx context.Context) (status, error) {
	var s status
	err := p.client.call(ctx, "get_port_status", params{"port_id": p.index(), "profile_id": profile}, &s)
	return s, err
}

// clean stops the port and removes its streams, including the streams of listings.
// The filters go first, without which the receive counters of the next run stay as
// they are; the server takes that only while there are streams.
func (p *port) clean(ctx context.Context) error {
	s, err := p.status(ctx)
	if err != nil {
		return err
	}
	var calls []call
	if s.State == stateSending || s.State == statePaused {
		calls = append(calls, call{"stop_traffic", p.streams(nil)})
	}
	if s.State != stateIdle {
		calls = append(calls, call{"remove_rx_filters", p.streams(nil)}, call{"remove_all_streams", p.streams(nil)})
	}
	for _, id := range p.listed {
		calls = append(calls, p.unlist(id)...)
	}
	if _, err := p.client.batch(ctx, calls); err != nil {
		return err
	}
	p.listed = nil
	return nil
}

// setPromiscuous makes the port take frames to any address, or only to its own.
func (p *port) setPromiscuous(ctx context.Context, on bool) error {
	if p.promiscuous == on {
		return nil
	}
	err := p.client.call(ctx, "set_port_attr", p.owned(params{"attr": params{"promiscuous": params{"enabled": on}}}), nil)
	if err != nil {
		return fmt.Errorf("setting port %s promiscuous to %t: %w", p.Name, on, err)
	}
	p.promiscuous = on
	return nil
}

// service turns the mode on or off in which the port takes part in ARP and the
// like, in mode ASTF all ports together. Nothing is measured while it is on.
func (p *port) service(ctx context.Context, on bool) error {
	settings := p.owned(params{"enabled": on, "filtered": false, "mask": 0})
	settings["handler"] = cmp.Or(p.context, p.handler)
	return p.client.call(ctx, "service", settings, nil)
}

// setL3 sets the port's VLAN, its address and the resolved neighbor at the server, which
// answers ARP for the address from then on.
func (p *port) setL3(ctx context.Context, src, dst netip.Addr, mac traffic.MAC) error {
	ids := []uint16{}
	for _, v := range p.VLANs {
		ids = append(ids, v.ID)
	}
	if err := p.client.call(ctx, "set_vlan", p.owned(params{"vlan": ids, "block": false}), nil); err != nil {
		return err
	}
	err := p.client.call(ctx, "set_l3", p.owned(params{
		"src_addr": src.String(), "dst_addr": dst.String(), "resolved_mac": mac.String(), "block": false,
	}), nil)
	if err == nil {
		p.neighbours.last = neighbour{src, dst, mac}
	}
	return err
}
