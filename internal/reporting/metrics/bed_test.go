package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// busyBed is a bed all of which is known.
func busyBed() Bed {
	return Bed{
		Name: "bed", Team: "team-a", Holder: "nightly", Run: "uid", Ready: true, Waiting: 3, Oldest: began.Add(-time.Minute),
		Interval: 30 * time.Second, Used: 12 * time.Second, Calibrated: began.Add(-24 * time.Hour),
	}
}

func TestPointOfABed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bed    Bed
		tags   map[string]string
		fields map[string]any
	}{
		"in use": {busyBed(), map[string]string{"bed": "bed", "team": "team-a"}, map[string]any{
			"holder": "nightly", "run": "uid", "ready": true, "unschedulable": false, "quarantined": false, "waiting": int64(3),
			"longest_wait_ns": int64(time.Minute), "interval_ns": int64(30 * time.Second), "utilisation_ppm": int64(400_000), "calibration_age_ns": int64(24 * time.Hour),
		}},
		"free, and nothing is known": {Bed{Name: "bed"}, map[string]string{"bed": "bed"}, map[string]any{
			"ready": false, "unschedulable": false, "quarantined": false, "waiting": int64(0),
		}},
		"used for longer than there was time, by another clock": {
			Bed{Name: "bed", Interval: time.Second, Used: time.Minute, Oldest: began.Add(time.Second)}, map[string]string{"bed": "bed"},
			map[string]any{
				"ready": false, "unschedulable": false, "quarantined": false, "waiting": int64(0), "longest_wait_ns": int64(0),
				"interval_ns": int64(time.Second), "utilisation_ppm": int64(1_000_000),
			},
		},
	} {
		tags, fields, at := decode(t, tc.bed.Point(began))
		if diff := cmp.Diff(tc.tags, tags) + cmp.Diff(tc.fields, fields); diff != "" || !at.Equal(began) {
			t.Errorf("%s: %s\n%s", name, at, diff)
		}
	}
}
