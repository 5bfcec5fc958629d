package storing

import (
	"fmt"
	"sync"
	"time"
)

// outage records that the archive or the recorder is unavailable, for all benchmarks: one
// attempt finds out whether it is back, and the others wait for it.
type outage struct {
	// what is unavailable: "the archive".
	what string
	// longest is the longest time between two attempts.
	longest time.Duration

	mu       sync.Mutex
	failures int
	until    time.Time
	last     error
}

// wait returns the time for which no attempt is to be made; 0 or less if an attempt is
// allowed.
func (o *outage) wait(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.until.Sub(now)
}

// failed notes a failure and returns how long to wait: a second after the first
// one, doubled with each other, up to the longest time.
func (o *outage) failed(now time.Time, err error) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait := o.longest
	if o.failures < 6 {
		wait = min(archiveBackoff<<o.failures, o.longest)
	}
	o.failures++
	o.until, o.last = now.Add(wait), err
	return wait
}

// over notes that the archive is back.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures, o.until, o.last = 0, time.Time{}, nil
}

// message describes the outage for a person.
func (o *outage) message() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		return o.what + " was not available; it is tried again"
	}
	return fmt.Sprintf("%s is not available, and is tried again: %v", o.what, o.last)
}
