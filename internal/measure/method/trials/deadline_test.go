package trials

import (
	"context"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

func TestSendingTime(t *testing.T) {
	rate, err := traffic.RateOf(frame.Rate(1_000_000_000, 64, 1_000_000))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		trial traffic.Trial
		want  time.Duration
	}{
		"by duration": {traffic.Trial{Duration: 10 * time.Second, Loads: map[uint16]traffic.Load{0: {Rate: rate, Frames: 1}}}, 10*time.Second + 100*time.Millisecond},
		// 1,488,095 frames are a second at line rate, and 14 s at 100,000 frames/s.
		"by frames":         {traffic.Trial{Loads: map[uint16]traffic.Load{0: {Rate: rate, Frames: 1_488_095}, 1: {Rate: rate, Frames: 1}}}, 15 * time.Second},
		"later":             {traffic.Trial{Loads: map[uint16]traffic.Load{0: {Rate: rate, Frames: 1, Delay: time.Hour}}}, time.Hour},
		"as fast as it can": {traffic.Trial{Loads: map[uint16]traffic.Load{0: {Max: true, Frames: 400_000}}}, 4 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := SendingTime(tc.trial); got < tc.want-time.Microsecond || got > tc.want+time.Microsecond {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// The tolerance is half the resolution, as a share of the load, and never above a
// hundredth of the trial.
func TestSearchTolerance(t *testing.T) {
	for name, tc := range map[string]struct {
		resolution, ppm int64
		d, lateness     time.Duration
		exact, most     time.Duration
	}{
		"a second at line rate":     {1_000, 1_000_000, time.Second, 0, 500 * time.Microsecond, 500 * time.Microsecond},
		"a minute at half the load": {1_000, 500_000, time.Minute, 0, 60 * time.Millisecond, 60 * time.Millisecond},
		"a low load":                {1_000, 1_000, 10 * time.Second, 0, 100 * time.Millisecond, 100 * time.Millisecond},
		"late by itself":            {1_000, 1_000_000, time.Second, 20 * time.Millisecond, 500 * time.Microsecond, 20 * time.Millisecond},
		"coarser than that":         {100_000, 1_000_000, 10 * time.Second, 20 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var step plan.Step
			step.Search.ResolutionPPM = tc.resolution
			if exact, most := searchTolerance(step, tc.ppm, tc.d, tc.lateness); exact != tc.exact || most != tc.most {
				t.Errorf("%s and %s, want %s and %s", exact, most, tc.exact, tc.most)
			}
		})
	}
}

// The simulated clock at a tenth of the real pace gets ten times as long.
func TestTheDeadlineFollowsThePaceOfTheClock(t *testing.T) {
	engine, err := sim.New("frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,100,1,2,3\n", []sim.Port{{Name: "p1", BitsPerSecond: 1_000_000_000}}, sim.WithPace(0.1))
	if err != nil {
		t.Fatal(err)
	}
	err = newGenerator(engine, v1alpha1.EngineSim).within(t.Context(), time.Minute, "it", func(ctx context.Context) error {
		end, _ := ctx.Deadline()
		if left := time.Until(end); left <= 10*time.Minute || left > 11*time.Minute {
			t.Errorf("%s, want 10 minutes and a little", left)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
