package stream

import "time"

// foreign is the maximum difference between a generator's clock and the time of day. A clock
// that is further away is independent of the time of day, as in the engine sim.
const foreign = time.Hour

// timeline turns times of a generator's clock into times of the day. Trials do not go
// back in time, also where another generator goes on, so that no point takes the place of
// an earlier one.
type timeline struct {
	now func() time.Time
	// shift is added to the generator's clock, and last is the last time that was given.
	shift time.Duration
	last  time.Time
	begun bool
}

// begin is called when a trial begins.
func (t *timeline) begin(at time.Time) {
	now := t.now()
	switch d := now.Sub(at); {
	case !t.begun && d.Abs() <= foreign:
		t.shift = 0
	case !t.begun:
		t.shift = d
	case at.Add(t.shift).Before(t.last):
		if now.Before(t.last) {
			now = t.last.Add(time.Millisecond)
		}
		t.shift = now.Sub(at)
	}
	t.begun = true
	t.at(at)
}

// at is the time of the day for a time of the generator.
func (t *timeline) at(generator time.Time) time.Time {
	at := generator.Add(t.shift)
	if at.After(t.last) {
		t.last = at
	}
	return at.UTC()
}
