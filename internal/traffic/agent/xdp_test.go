package agent

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp"
)

// twoHosts opens an engine in each of two namespaces that one cable joins.
func twoHosts(t *testing.T) (a, b *xdp.Engine) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces and loading BPF programs needs root")
	}
	var o opened
	done := make(chan struct{})
	go func() {
		defer close(done)
		// For good: the thread ends with the goroutine.
		runtime.LockOSThread()
		o.err = o.open()
	}()
	<-done
	// Cleaned up last: a cable vanishes with the namespace of either of its ends.
	t.Cleanup(func() {
		for _, ns := range o.namespaces {
			ns.Close()
		}
	})
	for _, e := range o.engines {
		if e != nil {
			t.Cleanup(func() {
				if err := e.Close(); err != nil {
					t.Errorf("closing the engine: %v", err)
				}
			})
		}
	}
	must(t, "opening two engines", o.err)
	return o.engines[0], o.engines[1]
}

type opened struct {
	namespaces []netns.NsHandle
	engines    [2]*xdp.Engine
	err        error
}

func (o *opened) open() error {
	for range 2 {
		ns, err := netns.New()
		if err != nil {
			return err
		}
		o.namespaces = append(o.namespaces, ns)
	}
	// The thread is in the second now, and so is the cable's first end.
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "p2", MTU: 1500}, PeerName: "p1", PeerNamespace: netlink.NsFd(o.namespaces[0])}
	if err := netlink.LinkAdd(cable); err != nil {
		return err
	}
	for i, ns := range o.namespaces {
		if err := netns.Set(ns); err != nil {
			return err
		}
		name := []string{"p1", "p2"}[i]
		address := netip.MustParsePrefix([]string{"198.18.0.1/24", "198.18.0.2/24"}[i])
		var err error
		o.engines[i], err = xdp.New(xdp.Options{Host: "here", Ports: []xdp.Port{{Name: name, Interface: name, SpeedBitsPerSecond: 1e9, Addresses: []netip.Prefix{address}}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// bidirectional makes a stream in each direction between resolved neighbors.
func bidirectional(t *testing.T, g traffic.Generator) []traffic.Stream {
	t.Helper()
	one, two := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	mac1, err := g.Resolve(ctx, "p2", one)
	must(t, "resolving", err)
	mac2, err := g.Resolve(ctx, "p1", two)
	must(t, "resolving", err)
	headers := traffic.Headers{SrcMAC: mac1, DstMAC: mac2, SrcIP: one, DstIP: two, SrcIPCount: 1, DstIPCount: 1, SrcPort: 20001, DstPort: 30001, SrcPortCount: 100, DstPortCount: 1}
	back := headers
	back.SrcMAC, back.DstMAC, back.SrcIP, back.DstIP = mac2, mac1, two, one
	return []traffic.Stream{
		{ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: 64, Headers: headers},
		{ID: 2, TxPort: "p2", RxPorts: []string{"p1"}, FrameSize: 512, Headers: back},
	}
}

// dialTwo serves an agent for each of two engines, with the ports p1 and p2, and returns their fleet,
// and the address of the first agent with what ends it.
func (l *lab) dialTwo(a, b traffic.Generator) (f *Fleet, addressA string, killA func()) {
	l.t.Helper()
	addressA, killA = l.serve(0, testserver.FreeAddress(l.t), a)
	addressB, _ := l.serve(1, "127.0.0.1:0", b)
	f, err := DialFleet(l.t.Context(), []Endpoint{l.endpoint(0, addressA, "p1"), l.endpoint(1, addressB, "p2")}, []string{"p1", "p2"}, l.pki.Runner, quick)
	must(l.t, "dialling", err)
	return f, addressA, killA
}

// Real frames between two agents: every one is counted, in both directions,
// trial after trial.
func TestTwoAgentsBackToBack(t *testing.T) {
	a, b := twoHosts(t)
	l := newLab(t)
	f, addressA, killA := l.dialTwo(a, b)
	defer f.Close()
	info, err := f.Info(t.Context())
	must(t, "info", err)
	if info.Engine != "xdp" || len(info.Ports) != 2 || info.Ports[1].Interface != "p2" || info.Ports[1].Driver != "veth" {
		t.Errorf("info %+v", info)
	}

	streams := bidirectional(t, f)
	must(t, "configuring", f.Configure(t.Context(), streams))
	paced := traffic.Load{Rate: traffic.Rate{Frames: 50_000, PerNanos: 1e9}, Frames: 20_000}
	for round := range 3 {
		must(t, "starting", f.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: paced, 2: paced}}))
		must(t, "waiting", f.Wait(t.Context()))
		var m traffic.Measurement
		eventually(t, "all frames in flight arrived", func() bool {
			m, err = f.Read(t.Context())
			must(t, "reading", err)
			return m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Received == m.Tx[1].Sent && m.Rx[traffic.RxKey{Stream: 2, Port: "p1"}].Received == m.Tx[2].Sent
		})
		for id, port := range map[uint16]string{1: "p2", 2: "p1"} {
			tx, rx := m.Tx[id], m.Rx[traffic.RxKey{Stream: id, Port: port}]
			// The engine measures no latency between its clock and another's.
			if tx.Sent != 20_000 || rx.Received != 20_000 || rx.Duplicate != 0 || rx.Reordered != 0 || rx.Latency.Count != 0 {
				t.Errorf("round %d, stream %d: tx %+v, rx %d, %d duplicate, %d reordered, latency of %d", round, id, tx, rx.Received, rx.Duplicate, rx.Reordered, rx.Latency.Count)
			}
		}
	}

	// One agent dies in the middle: the others stop sending.
	endless := traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}}
	must(t, "starting", f.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: endless, 2: endless}, Duration: time.Hour}))
	waited := make(chan error, 1)
	go func() { waited <- f.Wait(t.Context()) }()
	killA()
	// It comes back at once: whether Wait had begun before it died or not, the
	// trial is void and the agent is not lost.
	l.serve(0, addressA, a)
	if err := <-waited; !errors.Is(err, traffic.ErrInterrupted) {
		t.Errorf("the death of one agent gives %v", err)
	}
	for name, engine := range map[string]*xdp.Engine{"the dead": a, "the other": b} {
		// Counters can be read only when nothing is sent.
		if _, err := engine.Read(t.Context()); err != nil {
			t.Errorf("%s agent's engine: %v", name, err)
		}
	}
	// The trial is repeated.
	must(t, "configuring again", f.Configure(t.Context(), streams))
	must(t, "starting again", f.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: paced, 2: paced}}))
	must(t, "waiting again", f.Wait(t.Context()))
	eventually(t, "all frames of the repeated trial arrived", func() bool {
		m, err := f.Read(t.Context())
		must(t, "reading", err)
		return m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Received == 20_000 && m.Rx[traffic.RxKey{Stream: 2, Port: "p1"}].Received == 20_000
	})
}
