package search

import "time"

// Overtaken is the delay, behind frames that were sent later, from which a missing frame may
// end a trial. The whole settling time follows, in which it may still arrive.
const Overtaken = 250 * time.Millisecond

const (
	// firstLook is the minimum time that a trial runs before it may end: a shorter one shows
	// too little of what the device forwards.
	firstLook = 250 * time.Millisecond
	// lookGrowth is the part of the time gone that passes before the next look, one in
	// so many: a trial with loss takes at most a quarter longer than until the loss is
	// certain, and a long one without is looked at some dozen times.
	lookGrowth = 8
)

// Saturation is the time during which the rate that the device forwards with loss is
// observed, before the trial is ended.
const Saturation = 250 * time.Millisecond

// NextLook returns the time of the next check that ends a running trial once its loss is
// certain. before is the time of the previous check. Both count from the beginning of
// sending; 0 is the beginning.
func NextLook(before time.Duration) time.Duration {
	return before + max(firstLook, before/lookGrowth)
}
