package xdp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/traffic"
)

// Counts are exact at every rate and size, and several streams share a port in
// proportion to their rates.
func TestCounts(t *testing.T) {
	perSecond := func(n int64) traffic.Rate { return traffic.Rate{Frames: n, PerNanos: 1e9} }
	whole := newBed(t)
	e := whole.backToBack()
	for name, test := range map[string]struct {
		sizes []int
		loads []traffic.Load
	}{
		"1 frame/s":            {[]int{64}, []traffic.Load{{Rate: perSecond(1), Frames: 2}}},
		"1k frames/s":          {[]int{128}, []traffic.Load{{Rate: perSecond(1000), Frames: 500}}},
		"100k frames/s":        {[]int{64}, []traffic.Load{{Rate: perSecond(100_000), Frames: 30_000}}},
		"1M frames/s":          {[]int{64}, []traffic.Load{{Rate: perSecond(1_000_000), Frames: 500_000}}},
		"a third of a frame":   {[]int{64}, []traffic.Load{{Rate: traffic.Rate{Frames: 1000, PerNanos: 3e6}, Frames: 70_001}}},
		"maximum, 1518":        {[]int{1518}, []traffic.Load{{Max: true, Frames: 200_000}}},
		"sizes side by side":   {[]int{64, 594, 1518}, []traffic.Load{{Rate: perSecond(7000), Frames: 2100}, {Rate: perSecond(4000), Frames: 1200}, {Rate: perSecond(1000), Frames: 300}}},
		"paced beside maximum": {[]int{64, 512}, []traffic.Load{{Rate: perSecond(1000), Frames: 200}, {Max: true, Frames: 300_000}}},
	} {
		t.Run(name, func(t *testing.T) {
			bed := whole.part(t)
			trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
			var streams []traffic.Stream
			for i, size := range test.sizes {
				s := stream(uint16(i+1), e)
				s.FrameSize = size
				streams = append(streams, s)
				trial.Loads[s.ID] = test.loads[i]
			}
			m := bed.run(e, streams, trial, arrived)
			for id, load := range trial.Loads {
				tx, rx := m.Tx[id], m.Rx[traffic.RxKey{Stream: id, Port: "p2"}]
				if tx.Intended != load.Frames || tx.Sent != load.Frames || rx.Received != load.Frames || rx.Duplicate+rx.Reordered != 0 {
					t.Errorf("stream %d: %+v, received %d, duplicate %d, reordered %d: want %d frames", id, tx, rx.Received, rx.Duplicate, rx.Reordered, load.Frames)
				}
				if early := time.Duration(load.Frames-1) * time.Duration(load.Rate.PerNanos) / time.Duration(max(1, load.Rate.Frames)); !load.Max && tx.Duration < early {
					t.Errorf("stream %d: sent in %v, its last frame was due after %v", id, tx.Duration, early)
				}
				checkLatency(t, rx)
			}
		})
	}
}

// A duration ends a trial, and lasts to its end.
func TestDuration(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	const d = 300 * time.Millisecond
	m := bed.run(e, []traffic.Stream{stream(1, e), stream(2, e)}, traffic.Trial{
		Duration: d,
		Loads: map[uint16]traffic.Load{
			1: {Rate: traffic.Rate{Frames: 1001, PerNanos: 1e9}},
			2: {Rate: traffic.Rate{Frames: 1, PerNanos: 60e9}},
		},
	}, arrived)
	if m.Tx[1].Intended != 300 || m.Tx[2].Intended != 1 {
		t.Errorf("intended %d and %d, want 300 and 1", m.Tx[1].Intended, m.Tx[2].Intended)
	}
	if m.TxTime < d {
		t.Errorf("sent for %v, want at least %v", m.TxTime, d)
	}
	if !arrived(m) {
		t.Errorf("%+v", m)
	}

	m = bed.again(e, traffic.Trial{Duration: d, Loads: map[uint16]traffic.Load{1: {Max: true}}}, arrived)
	if m.Tx[1].Sent == 0 || m.Tx[1].Intended != m.Tx[1].Sent || !arrived(m) || m.TxTime < d {
		t.Errorf("maximum for %v: %+v in %v, received %d", d, m.Tx[1], m.TxTime, received(m))
	}
	if _, ok := m.Tx[2]; ok {
		t.Error("stream 2 had no load, and sent")
	}
}

// Frames of an earlier trial count in no later one.
func TestStale(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.disturb(settings{"stale_every": uint32(10)})
	e := bed.open(d.ports(nil, nil)...)
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 1e5}, Frames: 5000}}},
		func(m traffic.Measurement) bool { return received(m)+d.faults().Staled == sent(m) })
	if m.Tx[1].Sent != 5000 || received(m) != 4500 {
		t.Errorf("sent %d, received %d, want 5000 and 4500", m.Tx[1].Sent, received(m))
	}
	if got, err := e.ports.named("p2").receive.strays(); err != nil || got != (strays{stale: 500}) {
		t.Errorf("strays %+v %v, want 500 stale", got, err)
	}
	if m.Stale["p2"] != 500 || len(m.Stale) != 1 {
		t.Errorf("stale %v, want 500 at p2", m.Stale)
	}
}

// Copies and changed places are found exactly.
func TestDuplicateAndReordered(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.disturb(settings{"copy_every": uint32(7), "permute": uint32(1)})
	e := bed.open(d.ports(nil, nil)...)
	const frames = 70_000
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 2e4}, Frames: frames}}},
		func(m traffic.Measurement) bool {
			return arrived(m) && m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Duplicate == d.faults().Copied
		})
	rx, faults := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}], d.faults()
	t.Logf("sent %d, received %d, duplicate %d, reordered %d; the device %+v", m.Tx[1].Sent, rx.Received, rx.Duplicate, rx.Reordered, faults)
	if faults.Copied != frames/7 || faults.Moved != frames/100*6 {
		t.Errorf("the device copied %d and moved %d, want %d and %d", faults.Copied, faults.Moved, frames/7, frames/100*6)
	}
	if rx.Received != frames || rx.Duplicate != faults.Copied || rx.Reordered != faults.Moved {
		t.Errorf("received %d, duplicate %d, reordered %d: want %d, %d, %d", rx.Received, rx.Duplicate, rx.Reordered, frames, faults.Copied, faults.Moved)
	}
	if want := uint64(frames / 100 * 6); rx.OutOfSequence != want || rx.Next != frames {
		t.Errorf("out of sequence %d up to %d, want %d up to %d", rx.OutOfSequence, rx.Next, want, frames)
	}
	checkLatency(t, rx)
}

// 0.51 % of the frames arrive after the next one: 51 of 10,000 are reordered
// (RFC 4737), and three times as many out of sequence in the older count.
func TestReorderedShareInBothCounts(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.disturb(settings{"swaps_per_10000": uint32(51)})
	e := bed.open(d.ports(nil, nil)...)
	const frames = 50_000
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 2e4}, Frames: frames}}}, arrived)
	rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
	t.Logf("received %d, reordered %d, out of sequence %d; the device %+v", rx.Received, rx.Reordered, rx.OutOfSequence, d.faults())
	if rx.Received != frames || rx.Reordered != 255 || rx.OutOfSequence != 765 || d.faults().Moved != 255 {
		t.Errorf("received %d, reordered %d, out of sequence %d, moved by the device %d: want %d, 255, 765, 255", rx.Received, rx.Reordered, rx.OutOfSequence, d.faults().Moved, frames)
	}
	if rx.Next != frames {
		t.Errorf("the highest number received is one below %d, want %d", rx.Next, frames)
	}
}

// A loss makes the frame after it out of sequence, and says where the last one was.
func TestWhereTheLastLossWas(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.dropper(1000)
	e := bed.open(d.ports(nil, nil)...)
	const frames = 10_500
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 1e5}, Frames: frames}}},
		func(m traffic.Measurement) bool { return received(m)+d.faults().Dropped == frames })
	rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
	// The numbers 999, 1999 up to 9999 are dropped.
	if rx.Received != frames-10 || rx.Reordered != 0 || rx.OutOfSequence != 10 || rx.GapEnd != 10_000 || rx.Next != frames {
		t.Errorf("received %d, reordered %d, out of sequence %d, last gap before %d, up to %d: want %d, 0, 10, 10000, %d", rx.Received, rx.Reordered, rx.OutOfSequence, rx.GapEnd, rx.Next, frames-10, frames)
	}
}

// A device that takes no XDP frames gets the same frames through a packet
// socket, and the report says so; when it takes them, XDP is used.
func TestFallback(t *testing.T) {
	t.Setenv(transmitVariable, "")
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	for _, name := range []string{"d1", "d2"} {
		d.gro(name, false)
	}
	e := bed.open(d.ports(nil, nil)...)
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 5e4}, Frames: 5000}}}
	check := func(m traffic.Measurement) {
		t.Helper()
		rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
		if m.Tx[1].Sent != 5000 || rx.Received != 5000 || rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("%+v, received %d, duplicate %d, reordered %d: want 5000", m.Tx[1], rx.Received, rx.Duplicate, rx.Reordered)
		}
		checkLatency(t, rx)
	}
	notes := func() int {
		t.Helper()
		info, err := e.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Log(info.Detail, info.Ports[0].Notes)
		return len(info.Ports[0].Notes)
	}
	// Kernels before 6.3 cannot be asked: there the first frame tells.
	asked := 1
	if _, err := netif.Generic(netdevFamily); errors.Is(err, unix.ENOENT) {
		asked = 0
	}
	if got := notes(); got != asked {
		t.Errorf("before the first frame the report has %d notes about the packet socket of p1, want %d", got, asked)
	}
	check(bed.run(e, []traffic.Stream{stream(1, e)}, trial, arrived))
	if notes() != 1 {
		t.Error("the report does not say that p1 sent through a packet socket")
	}
	d.gro("d1", true)
	check(bed.again(e, trial, arrived))
	if notes() != 0 {
		t.Error("p1 could send by XDP")
	}
}

// A device that stops taking XDP frames in the middle of a trial gets the rest
// through a packet socket, and none is lost or sent twice.
func TestFallbackInTheMiddle(t *testing.T) {
	t.Setenv(transmitVariable, "")
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	d.gro("d1", true)
	e := bed.open(d.ports(nil, nil)...)
	const frames = 3000
	load := traffic.Load{Rate: traffic.Rate{Frames: 2000, PerNanos: 1e9}, Frames: frames}
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: load}}); err != nil {
		t.Fatal(err)
	}
	p1, p2 := e.ports.named("p1"), e.ports.named("p2")
	var m traffic.Measurement
	for begin := time.Now(); received(m) < 100 && time.Since(begin) < patience; runtime.Gosched() {
		m = traffic.Measurement{Rx: map[traffic.RxKey]traffic.RxCount{}}
		if err := p2.receive.read(&m); err != nil {
			t.Fatal(err)
		}
	}
	if received(m) >= frames || *p1.send.fallback.Load() != "" {
		t.Fatalf("%d frames were received by XDP, want some", received(m))
	}
	d.gro("d1", false)
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; runtime.Gosched() {
		var err error
		if m, err = e.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if arrived(m) || time.Since(begin) > patience {
			break
		}
	}
	if *p1.send.fallback.Load() == "" {
		t.Error("p1 did not fall back")
	}
	rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
	if m.Tx[1].Sent != frames || rx.Received != frames || rx.Duplicate+rx.Reordered != 0 {
		t.Errorf("%+v, received %d, duplicate %d, reordered %d: want %d", m.Tx[1], rx.Received, rx.Duplicate, rx.Reordered, frames)
	}
}

// Frames that do not fit into a live frame go through a packet socket, and the
// receive program counts them in several buffers.
func TestJumbo(t *testing.T) {
	t.Setenv(transmitVariable, "")
	for size, byXDP := range map[int]bool{maxLiveFrame + 4: true, maxLiveFrame + 5: false, 9018: false} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			bed := newBed(t)
			bed.veth("v1", "v2", bed.tester)
			bed.takeJumboFrames(bed.nl, "v1", "v2")
			e := bed.open(Port{Name: "p1", Interface: "v1"}, Port{Name: "p2", Interface: "v2"})
			s := stream(1, e)
			s.FrameSize = size
			m := bed.run(e, []traffic.Stream{s}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Max: true, Frames: 20_000}}}, arrived)
			if m.Tx[1].Sent != 20_000 || !arrived(m) {
				t.Errorf("sent %d, received %d, want 20000", m.Tx[1].Sent, received(m))
			}
			if got := *e.ports.named("p1").send.fallback.Load() == ""; got != byXDP {
				t.Errorf("sent by XDP: %v, want %v", got, byXDP)
			}
			notes := notesOf(m, traffic.NoteFallback)
			if byXDP && len(notes) > 0 {
				t.Errorf("notes %q, want none", notes)
			}
			if clump := m.Pacing["p1"].MaxClump; !byXDP && (len(notes) != 1 || clump < 2 ||
				!strings.Contains(notes[0], "frames of p1 were sent through a packet socket, which is slower than XDP, because frames above 3304 bytes") ||
				!strings.Contains(notes[0], fmt.Sprintf("in bursts of up to %d frames", clump))) {
				t.Errorf("notes %q, want the packet socket and bursts of %d frames", notes, clump)
			}
		})
	}
}

// Stop and ctx end everything at once.
func TestStop(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]traffic.Load{
		"one frame a year": {Rate: traffic.Rate{Frames: 1, PerNanos: int64(365 * 24 * time.Hour)}, Frames: 1000},
		"maximum":          {Max: true, Frames: 1 << 40},
	} {
		if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: load}}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Read(t.Context()); err == nil {
			t.Errorf("%s: counters were read while frames were sent", name)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: waiting with a cancelled context: %v", name, err)
		}
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, err := e.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.Tx[1].Intended != load.Frames || m.Tx[1].Sent >= load.Frames || len(m.Notes) == 0 || m.Notes[0].Kind != traffic.NoteUnsent {
			t.Errorf("%s: %+v, notes %v", name, m.Tx[1], m.Notes)
		}
	}
}

// More streams than there was room for make the programs load anew, and each
// keeps its own counters.
func TestManyStreams(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	var streams []traffic.Stream
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	for i := range 1000 {
		s := stream(uint16(65535-i), e)
		s.Headers.SrcPort += uint16(i)
		streams = append(streams, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: int64(100 + i), PerNanos: 1e9}, Frames: uint64(1 + i%50)}
	}
	m := bed.run(e, streams, trial, arrived)
	for id, load := range trial.Loads {
		if got := m.Rx[traffic.RxKey{Stream: id, Port: "p2"}]; m.Tx[id].Sent != load.Frames || got.Received != load.Frames {
			t.Fatalf("stream %d: sent %d, received %d, want %d", id, m.Tx[id].Sent, got.Received, load.Frames)
		}
	}
}

// Both directions at once.
func TestBidirectional(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	there, back := stream(1, e), stream(2, e)
	back.TxPort, back.RxPorts = "p2", []string{"p1"}
	back.Headers.SrcMAC, back.Headers.DstMAC = there.Headers.DstMAC, there.Headers.SrcMAC
	load := traffic.Load{Max: true, Frames: 1_000_000}
	m := bed.run(e, []traffic.Stream{there, back}, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, arrived)
	for key, rx := range m.Rx {
		if m.Tx[key.Stream].Sent != load.Frames || rx.Received != load.Frames || rx.Duplicate+rx.Reordered != 0 {
			t.Error(fmt.Sprintf("stream %d: %+v,", key.Stream, m.Tx[key.Stream]), rx.Received, rx.Duplicate, rx.Reordered)
		}
	}
}
