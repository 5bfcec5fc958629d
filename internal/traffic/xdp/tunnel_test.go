package xdp

import (
	"context"
	"net/netip"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

var tunnelKinds = []frame.TunnelKind{frame.VXLAN, frame.GENEVE, frame.GRE, frame.GTPU}

// The packet is found in every tunnel behind tags and labels, whole and damaged, and what
// only looks like a tunnel is left to others.
func TestFindsThePacketInATunnel(t *testing.T) {
	b := newBench(t)
	want := uint64(0)
	damaged := func() traffic.Damage {
		s, err := b.port.receive.strays()
		if err != nil {
			t.Fatal(err)
		}
		return s.damaged
	}
	for _, kind := range tunnelKinds {
		for _, addr := range []netip.Addr{netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("2001:2::1")} {
			for _, tags := range []frame.VLANs{nil, {{ID: 4000}, {ID: 1}}} {
				for _, labels := range [][]uint32{nil, {16, 17, 18, 19}} {
					p := frame.Packet{Src: addr, Dst: addr, VLANs: tags, Labels: labels, Tunnel: frame.Tunnel{Kind: kind, Src: addr, Dst: addr}}
					p.Size = p.MinSize() + 30
					data, err := p.Build(frame.Signature{Epoch: 1000, Stream: 1, Sequence: want, Nanos: uint64(monotonic())})
					if err != nil {
						t.Fatal(err)
					}
					b.port.receive.attached.programs.Expected[0].Payload.Length = uint16(len(data) - p.NetworkOffset())
					before := damaged()
					if got := b.receive(data); got != xdpDrop || damaged() != before {
						t.Errorf("%s over %v in %v with labels %v: action %d, damaged %+v", kind, addr, tags, labels, got, damaged())
					}
					want++
					data[len(data)-1]++
					b.receive(data)
					b.receive(data[:len(data)-1])
					if got := damaged(); got.Corrupted != before.Corrupted+1 || got.Truncated != before.Truncated+1 {
						t.Errorf("%s over %v in %v with labels %v: damaged %+v before, %+v after one was corrupted and one truncated", kind, addr, tags, labels, before, got)
					}
				}
			}
		}
	}
	// Tunnels of another form than the tester's are not looked into.
	addr := netip.MustParseAddr("198.18.0.1")
	for kind, at := range map[frame.TunnelKind]int{frame.GENEVE: 42, frame.GRE: 34, frame.GTPU: 42} {
		p := frame.Packet{Src: addr, Dst: addr, Size: 200, Tunnel: frame.Tunnel{Kind: kind, Src: addr, Dst: addr}}
		data, err := p.Build(frame.Signature{Epoch: 1000, Stream: 1, Sequence: want})
		if err != nil {
			t.Fatal(err)
		}
		b.port.receive.attached.programs.Expected[0].Payload.Length = uint16(len(data) - p.NetworkOffset())
		data[at] |= 4 // options, another version, extensions
		b.receive(data)
	}
	var flow kernel.PortRxFlow
	if err := b.port.receive.attached.programs.RxFlows.Lookup(uint32(0), &flow); err != nil {
		t.Fatal(err)
	}
	if flow.Received != want {
		t.Errorf("received %d, want %d", flow.Received, want)
	}
}

// A router forwards what is in tunnels, behind tags, and the receiver counts every frame
// once, in order and with its latency.
func TestTunnelsThroughARouter(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.router(prefixes("198.18.1.1/24", "2001:2:0:1::1/64"), prefixes("198.18.2.1/24", "2001:2:0:2::1/64"))
	ports := d.ports(prefixes("198.18.1.2/24", "2001:2:0:1::2/64"), prefixes("198.18.2.2/24", "2001:2:0:2::2/64"))
	ports[0].VLANs = frame.VLANs{{ID: 1000}, {ID: 100}}
	d.inVLAN(d.d1, ports[0].VLANs)
	e := bed.open(ports...)
	const frames = 1000
	var streams []traffic.Stream
	learning, trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}, traffic.Trial{Loads: map[uint16]traffic.Load{}}
	for i, kind := range append(tunnelKinds, "") {
		for j, family := range [][3]string{{"198.18.1.1", "198.18.1.2", "198.18.2.2"}, {"2001:2:0:1::1", "2001:2:0:1::2", "2001:2:0:2::2"}} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for _, ask := range [][2]string{{"p1", family[0]}, {"p2", map[int]string{0: "198.18.2.1", 1: "2001:2:0:2::1"}[j]}} {
				if _, err := e.Resolve(ctx, ask[0], netip.MustParseAddr(ask[1])); err != nil {
					t.Fatal(err)
				}
			}
			mac, err := e.Resolve(ctx, "p1", netip.MustParseAddr(family[0]))
			if err != nil {
				t.Fatal(err)
			}
			s := stream(uint16(10*i+j), e)
			s.FrameSize = 200 + 7*i
			h := &s.Headers
			h.SrcMAC, h.DstMAC, h.VLANs = e.ports.named("p1").mac, mac, ports[0].VLANs
			h.SrcIP, h.DstIP = netip.MustParseAddr(family[1]), netip.MustParseAddr(family[2])
			h.SrcPortCount = 100
			if kind != "" {
				h.Tunnel = frame.Tunnel{Kind: kind, Src: h.SrcIP, Dst: h.DstIP, SrcMAC: [6]byte{2, 1}, DstMAC: [6]byte{2, 2}}
				h.SrcIPCount, h.DstIPCount = 50, 50 // behind the ends of the tunnel
			}
			streams = append(streams, s)
			learning.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 5}
			trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: frames}
		}
	}
	if m := bed.run(e, streams, learning, arrived); !arrived(m) {
		t.Errorf("learning: sent %d, received %d", sent(m), received(m))
	}
	m := bed.again(e, trial, arrived)
	for _, s := range streams {
		rx := m.Rx[traffic.RxKey{Stream: s.ID, Port: "p2"}]
		if m.Tx[s.ID].Sent != frames || rx.Received != frames || rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("%q over %v: sent %d, received %d, duplicate %d, reordered %d, want %d", s.Headers.Tunnel.Kind, s.Headers.SrcIP, m.Tx[s.ID].Sent, rx.Received, rx.Duplicate, rx.Reordered, frames)
		}
		checkLatency(t, rx)
	}
	if len(m.Damaged) > 0 {
		t.Errorf("damaged: %v", m.Damaged)
	}
}
