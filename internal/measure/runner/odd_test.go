package runner

import (
	"fmt"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// oddLoads are the loads at which each odd device is measured, 20 of them, below and
// above its capacity of 60 %.
func oddLoads() []v1alpha1.Load {
	var loads []v1alpha1.Load
	for i := range 20 {
		loads = append(loads, v1alpha1.Load(fmt.Sprintf("%d%%", 3*(i+1))))
	}
	return loads
}

// What a device does to few of its frames is in every row, exactly, and no row is
// called the tester's limit. What loses frames at every load has next to no
// throughput, and what only copies, delays or reorders them has the whole.
func TestRareFaultsInEveryRow(t *testing.T) {
	const streams = 4
	// part of the frames of each stream, rounded down as each is counted for itself.
	part := func(frames, ppm int64) int64 { return streams * (frames / streams * ppm / 1_000_000) }
	type counts struct{ lost, duplicate, reordered, corrupted, truncated int64 }
	for name, tc := range map[string]struct {
		columns, cells string
		want           func(sent int64) counts
		lossy          bool
	}{
		"loses 1 in 1,000,000":      {"loss_ppm", "1", func(n int64) counts { return counts{lost: part(n, 1)} }, true},
		"corrupts 1 in 100,000":     {"corrupted_ppm", "10", func(n int64) counts { return counts{lost: part(n, 10), corrupted: part(n, 10)} }, true},
		"truncates 1 in 1,000":      {"truncated_ppm", "1000", func(n int64) counts { return counts{lost: part(n, 1000), truncated: part(n, 1000)} }, true},
		"duplicates 1 in 10,000":    {"duplicate_ppm", "100", func(n int64) counts { return counts{duplicate: part(n, 100)} }, false},
		"delays 1 in 1,000 by 5 ms": {"delayed_ppm,delay_us", "1000,5000", func(n int64) counts { return counts{reordered: part(n, 1000)} }, false},
		"reorders":                  {"reordered_ppm", "1000", func(n int64) counts { return counts{reordered: part(n, 1000)} }, false},
		"stalls 50 ms every 10 s":   {"stall_us,stall_period_us", "50000,10000000", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := small(header + "," + tc.columns + "\n64,60,1,2,3,0.1,0.2," + tc.cells + "\n")
			cfg.Profile.Spec.FrameSizes = []int32{64}
			cfg.Benchmark.Spec.Tests = []v1alpha1.Test{
				{Name: "loads", Latency: &v1alpha1.LatencyTest{Loads: oddLoads()}},
				{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}},
			}
			state := runSim(t, cfg)
			if len(state.Rows) != 21 {
				t.Fatalf("%d rows: %s", len(state.Rows), state.Message)
			}
			for _, row := range state.Rows[:20] {
				f := row.Frames
				got := counts{f.Lost, *f.Duplicate, *f.Reordered, *f.Corrupted, *f.Truncated}
				want := got
				if tc.want != nil {
					want = tc.want(f.Sent)
				}
				if got != want || (f.Lost > 0) != tc.lossy || f.Received != f.Sent-f.Lost || *f.Stale != 0 {
					t.Errorf("at %s: %+v of %d, received %d, stale %d; want %+v", row.Load, got, f.Sent, f.Received, *f.Stale, want)
				}
				// Six stalls of 50 ms in the minute are 0.5 % of it; the trial may begin in one.
				if tc.want == nil && (f.Lost < f.Sent/200-f.Sent/1000 || f.Lost > f.Sent/200+f.Sent/1000) {
					t.Errorf("at %s: lost %d of %d in stalls", row.Load, f.Lost, f.Sent)
				}
			}
			for _, row := range state.Rows {
				if row.Validity != v1alpha1.ValiditySimulated {
					t.Errorf("%s at %s: %s %q", row.Test, row.Load, row.Validity, row.ValidityReasons)
				}
			}
			switch ppm := state.Rows[20].Frames.LineRatePPM; {
			case tc.lossy && ppm > 10_000:
				t.Errorf("throughput of %d ppm, where no load is free of loss", ppm)
			case !tc.lossy && ppm < 599_000:
				t.Errorf("throughput of %d ppm, want 60 %%", ppm)
			}
		})
	}
}
