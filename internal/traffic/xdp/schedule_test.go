package xdp

import (
	"math"
	"math/big"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

func paced(frames, perNanos int64) traffic.Load {
	return traffic.Load{Rate: traffic.Rate{Frames: frames, PerNanos: perNanos}}
}

// Every frame is handed out at the first nanosecond at which it is due, after a
// week as in the first second, also where rates do not divide a second.
func TestScheduleIsExact(t *testing.T) {
	for name, rate := range map[string]traffic.Rate{
		"whole":         {Frames: 1000, PerNanos: 1e9},
		"a third":       {Frames: 1, PerNanos: 3},
		"10G of 64":     {Frames: 1e10, PerNanos: 84 * 8 * 1e9},
		"share of 400G": {Frames: 400_000_000_000 * 999_983 / 1000, PerNanos: 84 * 8 * 1e12},
		"one a day":     {Frames: 1, PerNanos: 86_400e9},
	} {
		const streams = 3
		slots, loads := []uint32{7, 8, 9}, []traffic.Load{}
		for range streams {
			loads = append(loads, traffic.Load{Rate: rate, Frames: 1 << 50})
		}
		s := newSchedule(slots, loads, 0)
		g := s.paced[0]
		for _, from := range []uint64{0, 1_000_003, 1 << 33} {
			g.next = from
			plan := make([]uint32, 1)
			for k := from + 1; k < from+50; k++ {
				// Frame k of three streams together is due at k*per/(3*frames).
				g.due = int64(mulDiv(g.next, uint64(rate.PerNanos), uint64(rate.Frames), streams))
				want := new(big.Int).Mul(new(big.Int).SetUint64(k-1), big.NewInt(rate.PerNanos))
				want.Div(want, new(big.Int).Mul(big.NewInt(streams), big.NewInt(rate.Frames)))
				due := int64(math.MaxInt64)
				if want.IsInt64() {
					due = want.Int64()
				}
				if g.due < 0 {
					g.due = math.MaxInt64
				}
				if g.due != due {
					t.Fatalf("%s: frame %d is due at %d, want %d", name, k-1, g.due, due)
				}
				if due == math.MaxInt64 {
					break
				}
				if due > 0 && s.fill(plan, due-1) != 0 {
					t.Fatalf("%s: frame %d came early", name, k-1)
				}
				if s.fill(plan, due) != 1 || plan[0] != slots[(k-1)%streams] {
					t.Fatalf("%s: frame %d did not come, or of stream %d", name, k-1, plan[0])
				}
			}
		}
	}
}

// Streams of different rates share a port in proportion, evenly mixed.
func TestScheduleMixes(t *testing.T) {
	s := newSchedule([]uint32{0, 1, 2, 3}, []traffic.Load{paced(1, 1000), paced(7, 12_000), paced(7, 12_000), paced(4, 12_000)}, time.Second)
	plan, counts := make([]uint32, 64), [4]int{}
	for now := int64(0); now < 12_000_000; now += 500 {
		for n := s.fill(plan, now); n > 0; n = s.fill(plan, now) {
			for _, slot := range plan[:n] {
				counts[slot]++
			}
		}
		elapsed := float64(now) / 12_000
		for i, each := range []float64{12, 7, 7, 4} {
			if got, want := float64(counts[i]), each*elapsed; got < want-1 || got > want+2 {
				t.Fatalf("after %d ns: stream %d sent %v, want %v", now, i, got, want)
			}
		}
	}
}

// What the device refused comes again first, and nothing more than asked for.
func TestScheduleRetries(t *testing.T) {
	s := newSchedule([]uint32{4, 5}, []traffic.Load{{Max: true, Frames: 3}, {Max: true, Frames: 3}}, 0)
	plan := make([]uint32, 4)
	if n := s.fill(plan, 0); n != 4 || plan[0] != 4 || plan[1] != 5 || plan[3] != 5 {
		t.Fatalf("%d frames of %v", n, plan)
	}
	s.retry = append(s.retry, 5, 5)
	if n := s.fill(plan, 0); n != 4 || plan[0] != 5 || plan[1] != 5 || plan[2] != 4 || plan[3] != 5 {
		t.Fatalf("%d frames of %v", n, plan)
	}
	if _, more := s.next(); more || s.fill(plan, math.MaxInt64) != 0 {
		t.Error("all frames were sent, and there are more")
	}
}

func TestIntended(t *testing.T) {
	for name, test := range map[string]struct {
		load traffic.Load
		d    time.Duration
		want uint64
	}{
		"whole":               {paced(1000, 1e9), 2 * time.Second, 2000},
		"rounded down":        {paced(1001, 1e9), 999 * time.Millisecond, 999},
		"line rate":           {paced(1e10, 84*8*1e9), 60 * time.Second, 892_857_142},
		"at least one":        {paced(1, 60e9), time.Second, 1},
		"frames end first":    {traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 1}, Frames: 5}, time.Second, 5},
		"duration ends first": {traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 1e9}, Frames: 500}, 3 * time.Second, 3},
		"maximum of frames":   {traffic.Load{Max: true, Frames: 9}, 0, 9},
		"maximum of time":     {traffic.Load{Max: true}, time.Second, unlimited},
	} {
		if got := intended(test.load, test.d); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
