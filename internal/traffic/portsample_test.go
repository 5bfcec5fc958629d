package traffic

import (
	"context"
	"testing"
	"time"
)

func TestLatencySince(t *testing.T) {
	t.Parallel()
	of := func(ns ...uint64) Latency {
		var l Latency
		for _, n := range ns {
			l.Add(Latency{Count: 1, MinNs: n, MaxNs: n, SumNs: n, Buckets: map[uint32]uint64{BucketIndex(n): 1}})
		}
		return l
	}
	before, all := of(90, 10_000), of(90, 10_000, 100, 120, 5_000, 10_000)
	d := all.Since(before)
	if d.Count != 4 || d.SumNs != 15_220 || d.AvgNs() != 3805 || d.MinNs != 100 || d.MaxNs != 10_000 {
		t.Errorf("%+v", d)
	}
	for perMille, want := range map[uint64]uint64{250: 100, 500: 120, 1000: 10_000} {
		if got := d.PercentileNs(perMille); got != want {
			t.Errorf("%d per mille: %d, want %d", perMille, got, want)
		}
	}
	if got := d.PercentileNs(750); got < 5000 || got > 5000+5000/64 {
		t.Errorf("750 per mille: %d, want 5000 within a bucket", got)
	}
	if none := all.Since(all); none.Count != 0 || none.MinNs != 0 || none.MaxNs != 0 || none.PercentileNs(500) != 0 || none.AvgNs() != 0 {
		t.Errorf("without a frame: %+v", none)
	}
}

func TestLoadIntended(t *testing.T) {
	t.Parallel()
	rate := Rate{Frames: 3, PerNanos: 1000}
	for name, tc := range map[string]struct {
		load Load
		at   time.Duration
		want uint64
	}{
		"a rate":           {Load{Rate: rate}, 10 * time.Microsecond, 30},
		"not begun":        {Load{Rate: rate, Delay: time.Second}, 10 * time.Microsecond, 0},
		"a number":         {Load{Rate: rate, Frames: 7}, 10 * time.Microsecond, 7},
		"as fast as it is": {Load{Max: true}, time.Second, 0},
	} {
		if got := tc.load.Intended(tc.at); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// counting is a clock in which reading takes time.
type counting struct {
	RealClock
	now time.Time
}

func (c *counting) Now() time.Time { return c.now }

func (c *counting) Sleep(_ context.Context, d time.Duration) error {
	c.now = c.now.Add(max(0, d))
	return nil
}

// Samples that cost much to read are taken less often; a reader that waited is not.
func TestReadingTakesAHundredthOfTheTime(t *testing.T) {
	t.Parallel()
	for ports, want := range map[bool]int{false: 100, true: 5} {
		clock := &counting{now: time.Unix(0, 0)}
		s := Sampling{Interval: 100 * time.Millisecond, Span: 10 * time.Second, Ports: ports}
		read := 0
		err := s.Each(t.Context(), clock, clock.now, func(int) (time.Duration, error) {
			read++
			clock.now = clock.now.Add(50 * time.Millisecond)
			return 20 * time.Millisecond, nil
		})
		if err != nil || read != want {
			t.Errorf("ports %t: %d samples, %v, want %d", ports, read, err, want)
		}
	}
}

// A read that other work on the machine holds up is no reason to leave out intervals after it.
func TestASlowReadLeavesOutNoIntervals(t *testing.T) {
	t.Parallel()
	clock := &counting{now: time.Unix(0, 0)}
	s := Sampling{Interval: 100 * time.Millisecond, Span: 10 * time.Second, Ports: true}
	read := 0
	err := s.Each(t.Context(), clock, clock.now, func(int) (time.Duration, error) {
		if read++; read%10 == 0 {
			return 20 * time.Millisecond, nil
		}
		return time.Millisecond / 2, nil
	})
	if err != nil || read != 100 {
		t.Errorf("%d samples, %v, want 100", read, err)
	}
}
