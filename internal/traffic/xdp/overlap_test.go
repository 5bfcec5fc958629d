package xdp

import (
	"net/netip"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// No frame of a trial is counted in the next, also where frames arrive while the next one
// is prepared.
func TestTrialBeginsWhileFramesArrive(t *testing.T) {
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	from := bed.open(Port{Name: "p1", Interface: "v1", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24")}})
	to := bed.open(Port{Name: "p2", Interface: "v2", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24")}})
	s := traffic.Stream{ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: 64, Headers: traffic.Headers{
		SrcMAC: from.ports.named("p1").mac, DstMAC: to.ports.named("p2").mac,
		SrcIP: netip.MustParseAddr("198.18.0.1"), DstIP: netip.MustParseAddr("198.18.0.2"),
		SrcIPCount: 1, DstIPCount: 1, SrcPort: 20001, DstPort: 30001, SrcPortCount: 1, DstPortCount: 1,
	}}
	for _, e := range []*Engine{from, to} {
		if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
			t.Fatal(err)
		}
	}
	const arriving, next = 7, 8
	trial := traffic.Trial{Epoch: arriving, Duration: 10 * time.Second, Loads: map[uint16]traffic.Load{1: {Max: true}}}
	if err := from.Start(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	counted := func() (flow kernel.PortRxFlow) {
		t.Helper()
		if err := to.ports.named("p2").receive.attached.programs.RxFlows.Lookup(uint32(0), &flow); err != nil {
			t.Fatal(err)
		}
		return flow
	}
	for range 20 {
		trial.Epoch = arriving
		if err := to.Arm(t.Context(), trial); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); counted().Received < 1000; {
			if time.Since(begin) > patience {
				t.Fatal("no frames arrive")
			}
		}
		trial.Epoch = next
		if err := to.Arm(t.Context(), trial); err != nil {
			t.Fatal(err)
		}
		want := kernel.PortRxFlow{Epoch: next, Trial: to.number}
		want.Lock = counted().Lock
		if got := counted(); got != want {
			t.Fatalf("the next trial begins with %d frames received, number %d next: want none", got.Received, got.Next)
		}
	}
	if err := from.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
