package metrics

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Bed is a bed at a moment.
type Bed struct {
	Name string
	// Team, Holder and Run are namespace, name and UID of the benchmark that has the bed;
	// empty while none has it.
	Team, Holder, Run string
	// Ready, Unschedulable and Quarantined are as in the status and the spec of the bed.
	Ready, Unschedulable, Quarantined bool
	// Waiting is the number of waiting benchmarks that could get the bed. Oldest is the time
	// at which the first of them was created.
	Waiting int
	Oldest  time.Time
	// Interval is the observed period. Used is the part of it in which a benchmark had the
	// bed.
	Interval, Used time.Duration
	// Calibrated is the time at which the tester was calibrated for the bed; zero if it was
	// not.
	Calibrated time.Time
}

// Point is the point of a bed at a time.
func (b Bed) Point(at time.Time) Point {
	fields := []Field{
		{"ready", b.Ready}, {"unschedulable", b.Unschedulable}, {"quarantined", b.Quarantined}, {"waiting", int64(b.Waiting)},
	}
	if b.Holder != "" {
		fields = append(fields, Field{"holder", b.Holder}, Field{"run", b.Run})
	}
	if !b.Oldest.IsZero() {
		fields = append(fields, Field{"longest_wait_ns", int64(max(0, at.Sub(b.Oldest)))})
	}
	if b.Interval > 0 {
		used := min(max(0, b.Used), b.Interval)
		fields = append(fields, Field{"interval_ns", int64(b.Interval)}, Field{"utilisation_ppm", int64(float64(used) / float64(b.Interval) * float64(v1alpha1.PPM))})
	}
	if !b.Calibrated.IsZero() {
		fields = append(fields, Field{"calibration_age_ns", int64(max(0, at.Sub(b.Calibrated)))})
	}
	return newPoint(MeasurementBed, at, []Tag{{tagBed, b.Name}, {tagTeam, b.Team}}, fields)
}
