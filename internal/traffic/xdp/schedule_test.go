package xdp

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

func paced(frames, perNanos int64) traffic.Load {
	return traffic.Load{Rate: traffic.Rate{Frames: frames, PerNanos: perNanos}}
}

// newLane is a lane in memory of its own, whose slots begin at 3 and groups at 2.
func newLane(loads []traffic.Load, d time.Duration) *lane {
	var streams []traffic.Stream
	byID := map[uint16]traffic.Load{}
	for i, load := range loads {
		streams = append(streams, traffic.Stream{ID: uint16(i)})
		byID[uint16(i)] = load
	}
	s := newSchedule(deal(streams, byID, 1)[0], d)
	l := &lane{
		tx: &kernel.PortTxPort{}, slots: make([]int, len(loads)),
		heap: make([]kernel.PortTxDue, len(loads)+2), groups: make([]kernel.PortTxGroup, len(loads)+2), streams: make([]kernel.PortTxStream, len(loads)+3),
	}
	for slot, stream := range s.order {
		l.slots[stream] = slot + 3
	}
	s.place(l, 3, 2)
	return l
}

// What streams without a limit have left in all is a number that fits.
func TestScheduleOfManyUnlimitedStreams(t *testing.T) {
	for streams := range 10 {
		var fast, slow []traffic.Load
		for i := range streams + 1 {
			fast = append(fast, traffic.Load{Max: true})
			slow = append(slow, traffic.Load{Rate: traffic.Rate{Frames: int64(i + 1), PerNanos: 1e9}, Frames: unlimited})
		}
		if l := newLane(fast, time.Second); l.tx.EagerLeft < manyFrames || l.tx.Left < manyFrames {
			t.Errorf("%d streams as fast as they can: %d frames left, %d of them fast", streams+1, l.tx.Left, l.tx.EagerLeft)
		}
		if l := newLane(slow, 0); l.tx.Left < manyFrames {
			t.Errorf("%d paced streams: %d frames left", streams+1, l.tx.Left)
		}
	}
}

// takeAll hands out all frames that are due, and returns the number of the stream of
// each.
func (l *lane) takeAll(now uint64, most int) (streams []int) {
	for len(streams) < most {
		f, ok := l.take(now)
		if !ok {
			break
		}
		streams = append(streams, slices.Index(l.slots, int(f.Slot)))
	}
	return streams
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
		var loads []traffic.Load
		for range streams {
			loads = append(loads, traffic.Load{Rate: rate, Frames: 1 << 50})
		}
		l := newLane(loads, 0)
		for k := range int64(10_000) {
			// Frame k of three streams together is due at k*per/(3*frames).
			want := new(big.Int).Mul(big.NewInt(k), big.NewInt(rate.PerNanos))
			want.Div(want, new(big.Int).Mul(big.NewInt(streams), big.NewInt(rate.Frames)))
			due := want.Uint64()
			if next, more := l.next(); next != due || !more {
				t.Fatalf("%s: frame %d is due at %d, want %d", name, k, next, due)
			}
			if due > 0 && len(l.takeAll(due-1, 1)) != 0 {
				t.Fatalf("%s: frame %d came early", name, k)
			}
			if got := l.takeAll(due, 1); len(got) != 1 || got[0] != int(k%streams) {
				t.Fatalf("%s: frame %d did not come, or of stream %d", name, k, got)
			}
		}
	}
}

// The frames of a group are as far apart as its load says, to less than one in 2^61.
func TestGroupsAreExact(t *testing.T) {
	for name, test := range map[string]struct {
		rate    traffic.Rate
		streams uint64
	}{
		"whole":                        {traffic.Rate{Frames: 1000, PerNanos: 1e9}, 7},
		"10G of 64":                    {traffic.Rate{Frames: 1e10, PerNanos: 84 * 8 * 1e9}, 65_536},
		"above a frame per nanosecond": {traffic.Rate{Frames: 999_983, PerNanos: 1e5}, 3},
		"more than 64 bits":            {traffic.Rate{Frames: 999_999_999_999_999_989, PerNanos: 1e18}, 65_535},
	} {
		g := newGroup(traffic.Load{Rate: test.rate, Frames: 1 << 60}, test.streams, 0)
		if g.Part >= g.Parts || g.Parts > math.MaxInt64 || g.Left != manyFrames && g.Left != test.streams<<60 {
			t.Errorf("%s: %+v", name, g)
		}
		got := new(big.Rat).SetFrac(new(big.Int).SetUint64(g.Part), new(big.Int).SetUint64(g.Parts))
		got.Add(got, new(big.Rat).SetInt(new(big.Int).SetUint64(g.Whole)))
		want := big.NewRat(test.rate.PerNanos, test.rate.Frames)
		want.Quo(want, new(big.Rat).SetInt(new(big.Int).SetUint64(test.streams)))
		wrong := new(big.Rat).Sub(got, want)
		if bound := big.NewRat(1, 1<<61); wrong.Abs(wrong).Cmp(bound) > 0 || test.rate.Frames < 1e15 && wrong.Sign() != 0 {
			t.Errorf("%s: frames are %v ns apart, want %v", name, got, want)
		}
	}
}

// Streams of different rates share a port in proportion, evenly mixed.
func TestScheduleMixes(t *testing.T) {
	l := newLane([]traffic.Load{paced(1, 1000), paced(7, 12_000), paced(7, 12_000), paced(4, 12_000)}, time.Second)
	counts := [4]int{}
	for now := uint64(0); now < 12_000_000; now += 500 {
		for _, stream := range l.takeAll(now, 1000) {
			counts[stream]++
		}
		elapsed := float64(now) / 12_000
		for i, each := range []float64{12, 7, 7, 4} {
			if got, want := float64(counts[i]), each*elapsed; got < want-1 || got > want+2 {
				t.Fatalf("after %d ns: stream %d sent %v, want %v", now, i, got, want)
			}
		}
	}
}

// Many groups come by the time at which they are due, and each sends all it has.
func TestScheduleOfManyGroups(t *testing.T) {
	var loads []traffic.Load
	for i := range 500 {
		loads = append(loads, traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: int64(100 + i*7919%503)}, Frames: uint64(1 + i%20), Delay: time.Duration(i * 31 % 977)})
	}
	l := newLane(loads, 0)
	counts, last := make([]uint64, len(loads)), uint64(0)
	for {
		due, more := l.next()
		if !more {
			break
		}
		f, ok := l.take(due)
		if !ok || f.Due != due || due < last {
			t.Fatalf("%+v %v is due at %d after %d", f, ok, due, last)
		}
		i := slices.Index(l.slots, int(f.Slot))
		if want := uint64(loads[i].Delay) + counts[i]*uint64(loads[i].Rate.PerNanos); due != want {
			t.Fatalf("frame %d of stream %d is due at %d, want %d", counts[i], i, due, want)
		}
		counts[i]++
		last = due
	}
	for i, load := range loads {
		if counts[i] != load.Frames {
			t.Errorf("stream %d sent %d frames, want %d", i, counts[i], load.Frames)
		}
	}
}

// What the device refused comes again first, and nothing more than asked for.
func TestScheduleRetries(t *testing.T) {
	most := traffic.Load{Max: true, Frames: 3}
	l := newLane([]traffic.Load{most, most, paced(1, 1000)}, time.Microsecond)
	if got := l.takeAll(0, 5); !slices.Equal(got, []int{2, 0, 1, 0, 1}) {
		t.Fatal(got)
	}
	for _, stream := range []int{0, 2} {
		l.refuse(kernel.PortTxFrame{Slot: uint32(l.slots[stream])})
	}
	if got := l.takeAll(0, 5); !slices.Equal(got, []int{0, 2, 0, 1}) {
		t.Fatal(got)
	}
	if _, more := l.next(); more || len(l.takeAll(math.MaxUint64, 1)) != 0 || l.tx.Left != 0 {
		t.Error("all frames were sent, and there are more")
	}
}

// What is recorded of frames that left at these times.
func TestPace(t *testing.T) {
	type counts struct{ lag, late, row, errors, most uint64 }
	for name, test := range map[string]struct {
		lags []uint64 // of frames 100 ns apart
		want counts
	}{
		"on time":          {[]uint64{0, 0, 0, 0}, counts{0, 0, 0, 3, 0}},
		"always late":      {[]uint64{70, 70, 70}, counts{70, 0, 0, 2, 0}},
		"one late":         {[]uint64{0, 500, 0}, counts{500, 1, 1, 2, 511}},
		"held up, catches": {[]uint64{0, 350, 250, 150, 50, 0}, counts{350, 3, 3, 5, 383}},
	} {
		l := &lane{tx: &kernel.PortTxPort{Bound: 100, LastDue: neverDue}}
		for i, lag := range test.lags {
			l.record(uint64(i)*100, uint64(i)*100+lag)
		}
		got := counts{lag: l.tx.Lag, late: l.tx.Late, row: l.tx.RowMost}
		for bucket, n := range l.tx.Paces {
			got.errors += n
			if n > 0 {
				got.most = paceBound(bucket)
			}
		}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	for ns := uint64(0); ns < 1<<41; ns += ns/9 + 1 {
		bucket := paceBucket(ns)
		if high := paceBound(bucket); ns > high && ns < 1<<40 || high > ns+ns/4 || bucket > 0 && ns <= paceBound(bucket-1) {
			t.Errorf("%d ns are in bucket %d, up to %d", ns, bucket, high)
		}
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
