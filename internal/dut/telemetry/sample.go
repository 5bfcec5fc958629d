package telemetry

import (
	"maps"
	"slices"
	"time"
)

// Sample is a value of a device at a moment, for series.
type Sample struct {
	// Name of a sensor or counter: "processor 1", "input discards of Ethernet1/3", "power".
	Name string
	// Unit of the value: frames for a counter.
	Unit string
	// Value of a sensor in thousandths of the unit; frames by which a counter has grown since the reading before.
	Value int64
}

// UnitFrames is the unit of samples of counters.
const UnitFrames = "frames"

// Follow is called with what a device reports at a time. It must not wait.
type Follow func(at time.Time, samples []Sample)

// samples returns the sensors of a reading, and the counters that have grown since another one, which may be nil.
func (r *Reading) samples(before *Reading) (out []Sample) {
	names := slices.Sorted(maps.Keys(r.Sensors))
	for _, name := range names[:min(len(names), maxSensors)] {
		s := r.Sensors[name]
		out = append(out, Sample{name, s.Unit, thousandths(s.Value)})
	}
	if before == nil || r.Up < before.Up {
		return out
	}
	counters := 0
	for _, name := range slices.Sorted(maps.Keys(r.Counters)) {
		if grown := clamp(r.Counters[name].Since(before.Counters[name])); grown > 0 && counters < maxCounters {
			out, counters = append(out, Sample{name, UnitFrames, grown}), counters+1
		}
	}
	return out
}
