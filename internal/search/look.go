package search

import "time"

// Overtaken is how long after frames that were sent later a frame may arrive before
// a trial is ended for it. The whole settling time follows then, in which it may
// still arrive.
const Overtaken = 250 * time.Millisecond

const (
	// firstLook is how long a trial runs at least before it may end: a shorter one
	// says too little about what the device forwards.
	firstLook = 250 * time.Millisecond
	// lookGrowth is the part of the time gone that passes before the next look, one in
	// so many: a trial with loss takes at most a quarter longer than until the loss is
	// certain, and a long one without is looked at some dozen times.
	lookGrowth = 8
)

// Saturation is for how long it is looked at what the device forwards while it loses
// frames, before the trial is ended.
const Saturation = 250 * time.Millisecond

// NextLook is when a trial that runs is looked at next to end it once its loss is
// certain, after a look at the time before, counted from the beginning of sending; 0
// is the beginning.
func NextLook(before time.Duration) time.Duration {
	return before + max(firstLook, before/lookGrowth)
}
