package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// MaxMissed is the maximum number of missed firings that are counted.
const MaxMissed = 100

// Timing computes the firing times of a schedule.
type Timing struct {
	times  *Times
	jitter time.Duration
	// deadline is the maximum delay of a firing; 0 is unlimited.
	deadline time.Duration
	// key is the input from which the jitter is derived.
	key string
}

// TimingOf reads when a schedule fires. It fails where Validate finds a problem of the
// expression or the zone.
func TimingOf(s *v1alpha1.BenchmarkSchedule) (*Timing, error) {
	zone, err := Zone(s.Spec.TimeZone)
	if err != nil {
		return nil, err
	}
	times, err := Parse(s.Spec.Schedule, zone)
	if err != nil {
		return nil, err
	}
	t := &Timing{times: times, key: s.Namespace + "/" + s.Name}
	if s.Spec.Jitter != nil {
		t.jitter = s.Spec.Jitter.Duration
	}
	if s.Spec.StartingDeadlineSeconds != nil {
		t.deadline = time.Duration(*s.Spec.StartingDeadlineSeconds) * time.Second
	}
	return t, nil
}

// At returns the time at which a firing is due: its time plus its jitter, in whole seconds.
func (t *Timing) At(firing time.Time) time.Time {
	width := uint64(t.jitter / time.Second)
	if width == 0 {
		return firing
	}
	sum := sha256.Sum256([]byte(t.key + "@" + FiringName(firing)))
	return firing.Add(time.Duration(binary.BigEndian.Uint64(sum[:8])%width) * time.Second)
}

// Next is the first firing after a time that is due later than another one, and when that is.
func (t *Timing) Next(after, now time.Time) (firing, at time.Time) {
	if earlier := now.Add(-t.jitter); earlier.After(after) {
		after = earlier.Add(-time.Minute)
	}
	for firing = t.times.Next(after); !firing.IsZero(); firing = t.times.Next(firing) {
		if at = t.At(firing); at.After(now) {
			return firing, at
		}
	}
	return time.Time{}, time.Time{}
}

// Until returns the time at which the starting deadline of a firing passes; zero without one.
func (t *Timing) Until(firing time.Time) time.Time {
	if t.deadline == 0 {
		return time.Time{}
	}
	return t.At(firing).Add(t.deadline)
}

// Due describes the firing of a schedule that is due.
type Due struct {
	// Firing is the time of the latest firing that is due; zero when there is none.
	Firing time.Time
	// TooLate reports whether the starting deadline of that firing has passed.
	TooLate bool
	// Missed is the number of earlier firings that were missed, counted up to MaxMissed.
	Missed int
	// Until is the time at which the starting deadline passes; zero without one.
	Until time.Time
}

// Due finds the latest firing after a time that is due now.
func (t *Timing) Due(after, now time.Time) Due {
	firing := t.times.Latest(after, now)
	for !firing.IsZero() && t.At(firing).After(now) {
		firing = t.times.Latest(after, firing.Add(-time.Second))
	}
	if firing.IsZero() {
		return Due{}
	}
	until := t.Until(firing)
	return Due{
		Firing: firing, Missed: t.times.Count(after, firing, MaxMissed),
		Until: until, TooLate: !until.IsZero() && now.After(until),
	}
}
