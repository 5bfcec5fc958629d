package xdp

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
	"nodrop.dev/nodrop/internal/traffic/xdp/xsk"
)

// A trial that is stopped while the ring of the device is full has sent exactly what the
// device gets: what waits in the ring of the AF_XDP socket does not leave any more, and
// does not count as sent.
func TestStopAFXDPWithFullRing(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	bed := newBed(t)
	d := bed.device()
	// Without NAPI at its other end, p1 would be served in the sender's time.
	d.gro("d1", true)
	// The device has little time, so that its ring fills.
	device := usable[len(usable)-1]
	d.threaded("d1", device)
	traffictest.Occupy(t, device)
	d.dropper(0)
	ports := d.ports(nil, nil)
	ports[0].Transmit = AFXDP
	e := bed.open(ports...)
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
		t.Fatal(err)
	}
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: 1 << 40}}}
	var refused, waited uint64
	begin := time.Now()
	for run := 0; run < 20 || (refused == 0 || waited == 0) && time.Since(begin) < patience; run++ {
		before := d.faults()
		if err := e.Start(t.Context(), trial); err != nil {
			t.Fatal(err)
		}
		l := e.trial.senders[0].lanes[0]
		for begin := time.Now(); atomic.LoadUint64(&l.tx.Sent) < uint64(500*(run%20+1)) && time.Since(begin) < patience; runtime.Gosched() {
		}
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		waited += uint64(len(l.user.(*copySender).waiting))
		m := bed.settle(e, func(m traffic.Measurement) bool { return d.faults().Frames-before.Frames == m.Tx[1].Sent })
		if got := d.faults().Frames - before.Frames; got != m.Tx[1].Sent {
			t.Errorf("run %d: sent %d, the device got %d", run, m.Tx[1].Sent, got)
		}
		for begin := time.Now(); !l.port.send.sockets[0].Idle() && time.Since(begin) < patience; runtime.Gosched() {
		}
		if !l.port.send.sockets[0].Idle() {
			t.Errorf("run %d: the socket has %d free chunks of %d", run, len(l.port.send.sockets[0].Free), xsk.Frames)
		}
		refused += l.tx.Refused
	}
	t.Logf("%d frames were refused, and %d were in the ring at the end", refused, waited)
	if refused == 0 || waited == 0 {
		t.Fatal("the ring of the device was never full: nothing was tested")
	}
}

// A transmit path that a port cannot use is an error that names port, driver, reason and
// remedy; one that it can use is in the report.
func TestForcedTransmit(t *testing.T) {
	t.Setenv(transmitVariable, "")
	long := func(s *traffic.Stream) { s.FrameSize = maxAFXDPFrame + 5 }
	same := func(*traffic.Stream) {}
	for name, test := range map[string]struct {
		transmit Transmit
		gro      bool
		change   func(*traffic.Stream)
		note     string   // in the report
		want     []string // in the error
	}{
		"live frames":                 {LiveFrames, true, same, "", nil},
		"live frames without NAPI":    {LiveFrames, false, same, "", []string{"port p1 (v1, driver veth)", "transmit LiveFrames", "a veth takes XDP frames only while", "leave transmit out"}},
		"AF_XDP":                      {AFXDP, true, same, "an AF_XDP socket that copies them", nil},
		"AF_XDP without NAPI":         {AFXDP, false, same, "an AF_XDP socket that copies them", nil},
		"AF_XDP with too long frames": {AFXDP, true, long, "", []string{"port p1 (v1, driver veth)", "transmit AFXDP", "a frame of 4101 bytes", "send frames of at most 4100 bytes"}},
		"packet socket":               {PacketSocket, true, same, "a packet socket, which is slower than XDP, because transmit is PacketSocket", nil},
	} {
		t.Run(name, func(t *testing.T) {
			bed := newBed(t)
			d := bed.device()
			bed.takeJumboFrames(bed.nl, "v1", "v2")
			bed.takeJumboFrames(d.nl, "d1", "d2")
			d.gro("d1", test.gro)
			ports := d.ports(nil, nil)
			ports[0].Transmit = test.transmit
			e := bed.open(ports...)
			s := stream(1, e)
			test.change(&s)
			err := e.Configure(t.Context(), []traffic.Stream{s})
			if err == nil {
				err = e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: 10}}})
			}
			if err == nil {
				err = e.Wait(t.Context())
			}
			if (err != nil) != (test.want != nil) {
				t.Fatalf("error %v, want one: %v", err, test.want != nil)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in the error %q", want, err)
				}
			}
			if err != nil {
				return
			}
			info, err := e.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(info.Ports[0].Notes, "; "); test.note == "" && notes != "" || !strings.Contains(notes, test.note) {
				t.Errorf("notes %q, want %q", notes, test.note)
			}
		})
	}
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	if _, err := New(Options{Ports: []Port{{Name: "p1", Interface: "v1", Transmit: "Pigeons"}}}); err == nil || !strings.Contains(err.Error(), `"Pigeons"`) || !strings.Contains(err.Error(), "AFXDP") {
		t.Errorf("transmit Pigeons: %v", err)
	}
}

// A port in an AF_XDP socket's path sends what another trial sent before, and as many.
func TestAFXDPTrials(t *testing.T) {
	bed := newBed(t)
	e := bed.both(AFXDP)
	s := stream(1, e)
	if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
		t.Fatal(err)
	}
	socket := e.ports.named("p1").send.sockets[0]
	for run, load := range []traffic.Load{
		{Max: true, Frames: 10_000},
		{Rate: traffic.Rate{Frames: 20, PerNanos: 1e6}, Frames: 5000},
		{Rate: traffic.Rate{Frames: 1, PerNanos: 1e6}, Frames: 50},
	} {
		m := bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{1: load}}, arrived)
		rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
		if m.Tx[1].Sent != load.Frames || rx.Received != load.Frames || rx.Duplicate+rx.Reordered != 0 || len(m.Damaged)+len(m.Stale) != 0 {
			t.Errorf("trial %d: sent %d, received %d, duplicate %d, reordered %d, damaged %v, stale %v: want %d", run, m.Tx[1].Sent, rx.Received, rx.Duplicate, rx.Reordered, m.Damaged, m.Stale, load.Frames)
		}
		checkLatency(t, rx)
		if e.ports.named("p1").send.sockets[0] != socket {
			t.Errorf("trial %d opened another socket", run)
		}
	}
}
