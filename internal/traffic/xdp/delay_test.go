package xdp

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

func delayed(l traffic.Load, d time.Duration) traffic.Load {
	l.Delay = d
	return l
}

// A stream begins with its delay, and its rate counts from there.
func TestScheduleDelays(t *testing.T) {
	l := newLane([]traffic.Load{paced(1, 1000), delayed(paced(1, 1000), 2500)}, 10*time.Microsecond)
	var order []int
	for now := uint64(0); now <= 10_000; now += 500 {
		order = append(order, l.takeAll(now, 64)...)
	}
	if want := []int{0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if _, more := l.next(); more {
		t.Error("all frames were sent, and there are more")
	}
}

// Streams that send as fast as they can share what there is from when they
// begin: one that comes later makes up for nothing.
func TestScheduleDelaysEager(t *testing.T) {
	most := traffic.Load{Max: true, Frames: 1000}
	l := newLane([]traffic.Load{most, delayed(most, 100), delayed(most, 50)}, 0)
	counts := [3]int{}
	for _, now := range []uint64{0, 49, 50, 99, 100} {
		for _, stream := range l.takeAll(now, 60) {
			counts[stream]++
		}
	}
	if counts != [3]int{60 + 60 + 30 + 30 + 20, 20, 30 + 30 + 20} {
		t.Errorf("%v", counts)
	}
	last := newLane([]traffic.Load{delayed(most, 100)}, 0)
	if due, more := last.next(); due != 100 || !more || len(last.takeAll(99, 60)) != 0 || len(last.takeAll(100, 60)) != 60 {
		t.Errorf("alone, it is due at %d: %v", due, more)
	}
}

func TestIntendedAfterADelay(t *testing.T) {
	for name, test := range map[string]struct {
		load traffic.Load
		d    time.Duration
		want uint64
	}{
		"half of the time": {delayed(paced(1000, 1e9), time.Second), 2 * time.Second, 1000},
		"at least one":     {delayed(paced(1, 1e9), time.Second), 1500 * time.Millisecond, 1},
		"of frames":        {delayed(traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 1}, Frames: 5}, time.Hour), 0, 5},
	} {
		if got := intended(test.load, test.d); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// A delayed stream sends exactly what its part of the trial holds, and its first
// frame arrives no sooner than the delay after the beginning.
func TestDelay(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	const delay = 200 * time.Millisecond
	at := func(m traffic.Measurement, id uint16) traffic.RxCount {
		return m.Rx[traffic.RxKey{Stream: id, Port: "p2"}]
	}
	for name, test := range map[string]struct {
		trial traffic.Trial
		want  [2]uint64
	}{
		"duration": {traffic.Trial{Duration: 2 * delay, Loads: map[uint16]traffic.Load{1: paced(10_000, 1e9), 2: delayed(paced(10_000, 1e9), delay)}}, [2]uint64{4000, 2000}},
		"frames": {traffic.Trial{Loads: map[uint16]traffic.Load{
			1: {Rate: traffic.Rate{Frames: 10_000, PerNanos: 1e9}, Frames: 100},
			2: {Max: true, Frames: 100_000, Delay: delay},
		}}, [2]uint64{100, 100_000}},
	} {
		t.Run(name, func(t *testing.T) {
			before := uint64(monotonic())
			m := bed.kept(e, []traffic.Stream{stream(1, e), stream(2, e)}, test.trial)
			for i, want := range test.want {
				tx, rx := m.Tx[uint16(i+1)], at(m, uint16(i+1))
				if tx.Intended != want || tx.Sent != want || rx.Received != want || rx.Duplicate+rx.Reordered != 0 {
					t.Errorf("stream %d: %+v, received %d, duplicate %d, reordered %d: want %d", i+1, tx, rx.Received, rx.Duplicate, rx.Reordered, want)
				}
			}
			first, second := at(m, 1), at(m, 2)
			if first.FirstNs < before || second.FirstNs < before+uint64(delay) || second.FirstNs < first.FirstNs {
				t.Errorf("after the trial was started the first frames arrived at %d and %d ns, the second not before %d", first.FirstNs-before, second.FirstNs-before, delay)
			}
			if first.LastNs < first.FirstNs || second.LastNs < second.FirstNs {
				t.Errorf("from %d to %d, and from %d to %d", first.FirstNs, first.LastNs, second.FirstNs, second.LastNs)
			}
			if m.Tx[2].Duration > m.TxTime-delay {
				t.Errorf("stream 2 was sent for %v of %v", m.Tx[2].Duration, m.TxTime)
			}
		})
	}
	for name, load := range map[string]traffic.Load{"negative": delayed(paced(1, 1), -1), "too long": delayed(paced(1, 1), delay)} {
		if err := e.Start(t.Context(), traffic.Trial{Duration: delay, Loads: map[uint16]traffic.Load{1: load}}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Samples grow while a trial runs, never show more received than sent, and end
// at the totals; copies and frames of other trials are not in them.
func TestSample(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.disturb(settings{"copy_every": uint32(5)})
	e := bed.open(d.ports(nil, nil)...)
	if _, err := traffictest.SampleNow(t, e); err == nil {
		t.Error("a sample without a trial")
	}
	const frames = 4000
	one := stream(1, e)
	one.Class = "gold"
	if err := e.Configure(t.Context(), []traffic.Stream{one}); err != nil {
		t.Fatal(err)
	}
	for trial := range 2 {
		if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 10_000, PerNanos: 1e9}, Frames: frames}}}); err != nil {
			t.Fatal(err)
		}
		var last traffic.Sample
		seen := 0
		for begin := time.Now(); last.Received < frames && time.Since(begin) < patience; runtime.Gosched() {
			s, err := traffictest.SampleNow(t, e)
			if err != nil {
				t.Fatal(err)
			}
			if s.At < last.At || s.Sent < last.Sent || s.Received < last.Received || s.Received > s.Sent || s.Sent > frames {
				t.Fatalf("trial %d: %+v after %+v", trial, s, last)
			}
			if s.Received > last.Received && s.Received < frames {
				seen++
			}
			last = s
		}
		if err := e.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, err := e.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if last.Sent != sent(m) || last.Received != received(m) || received(m) != frames || seen < 2 {
			t.Errorf("trial %d: %d samples up to %+v; sent %d, received %d", trial, seen, last, sent(m), received(m))
		}
		if s, err := traffictest.SampleNow(t, e); err != nil || s.At != m.TxTime {
			t.Errorf("trial %d: after %v of sending a sample is of %v: %v", trial, m.TxTime, s.At, err)
		}
		want := traffic.NewPortSamples()
		want.Sent(&one, frames)
		want.Received(&one, "p2", m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}])
		want.CaughtUp = map[string]uint64{"p1": m.Pacing["p1"].CaughtUp}
		if s, err := traffictest.PortsNow(t, e); err != nil || cmp.Diff(want, s.Ports) != "" || s.Ports.Rx[traffic.ClassAt{Port: "p2", Class: "gold"}].Duplicate != frames/5 {
			t.Errorf("trial %d: %v, samples of the ports (-want +got):\n%s", trial, err, cmp.Diff(want, s.Ports))
		}
	}
}
