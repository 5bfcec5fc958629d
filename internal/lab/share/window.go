package share

import (
	"slices"
	"time"
)

// window adds up bed time over a sliding window, in steps. What is older than the window
// is forgotten one step at a time.
type window struct {
	step  time.Duration
	steps []time.Duration
	// first is the number of the oldest step, counted from the zero time.
	first int64
	sum   time.Duration
}

// stepsOfWindow is the number of steps into which a window is divided.
const stepsOfWindow = 72

func newWindow(length time.Duration) window {
	return window{step: max(length/stepsOfWindow, time.Second), steps: make([]time.Duration, stepsOfWindow)}
}

func (w *window) clone() window {
	c := *w
	c.steps = slices.Clone(w.steps)
	return c
}

// number is the number of the step that holds a time.
func (w *window) number(t time.Time) int64 { return t.Unix() / int64(w.step/time.Second) }

// begin returns the time at which a step begins.
func (w *window) begin(number int64) time.Time {
	return time.Unix(number*int64(w.step/time.Second), 0)
}

// slide forgets what is older than the window before a time.
func (w *window) slide(now time.Time) {
	first := w.number(now) - int64(len(w.steps)) + 1
	if first-w.first >= int64(len(w.steps)) {
		clear(w.steps)
		w.sum = 0
		w.first = first
	}
	for ; w.first < first; w.first++ {
		i := w.first % int64(len(w.steps))
		w.sum -= w.steps[i]
		w.steps[i] = 0
	}
}

// add adds the bed time of a number of beds from one time until another one.
func (w *window) add(from, until time.Time, beds float64) {
	w.slide(until)
	if begin := w.begin(w.first); from.Before(begin) {
		from = begin
	}
	for n := w.number(from); from.Before(until); n++ {
		end := w.begin(n + 1)
		if end.After(until) {
			end = until
		}
		d := time.Duration(beds * float64(end.Sub(from)))
		w.steps[n%int64(len(w.steps))] += d
		w.sum += d
		from = end
	}
}
