package telemetry

import (
	"slices"
	"testing"
	"time"
)

// TestSamples returns sensors, and counters that have grown since the reading before.
func TestSamples(t *testing.T) {
	t.Parallel()
	before, now := &Reading{Up: time.Minute}, &Reading{Up: 2 * time.Minute}
	now.Sense("PSU 1", 421.5, "W")
	for name, n := range map[string][2]uint64{"drops of e1": {5, 42}, "drops of e2": {7, 7}} {
		before.Add(name, Counter{n[0], 64})
		now.Add(name, Counter{n[1], 64})
	}
	sensor, counter := Sample{"PSU 1", "W", 421_500}, Sample{"drops of e1", UnitFrames, 37}
	if got := now.samples(before); !slices.Equal(got, []Sample{sensor, counter}) {
		t.Errorf("%+v", got)
	}
	if got := now.samples(nil); !slices.Equal(got, []Sample{sensor}) {
		t.Errorf("%+v", got)
	}
	now.Up = time.Second // It has restarted.
	if got := now.samples(before); !slices.Equal(got, []Sample{sensor}) {
		t.Errorf("%+v", got)
	}
}
