package histories

import (
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// promises counts the estimates of a start that benchmarks had when they got a bed: those that
// were kept, and those that were not and have an explanation.
type promises struct{ kept, explained int }

// fault is a time in which the operator could not keep its promises, nor explain them: there
// was none, there were two, or the API server failed.
type fault struct{ from, until time.Time }

// faulty records a fault that ends now.
func (c *checker) faulty(from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fault{from, time.Now()})
}

// twoLead records whether two operators lead. They know different things, and overwrite each
// other's estimates.
func (c *checker) twoLead(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.two = is
}

// able returns the time for which the operator could have acted since a time. The caller holds
// the lock.
func (c *checker) able(since time.Time) time.Duration {
	able := time.Since(since)
	for _, f := range c.faults {
		from := f.from
		if from.Before(since) {
			from = since
		}
		able -= max(f.until.Sub(from), 0)
	}
	return able
}

// tolerance is the amount by which an estimate may move without an explanation.
func tolerance(estimate time.Time) time.Duration { return max(time.Until(estimate)/10, time.Minute) }

const (
	// rounding is the amount by which what the operator computed may differ from what is
	// stored.
	rounding = 3 * time.Second
	// grace is the time that an explanation may take: it is written every ten seconds at most,
	// and a write may conflict with another.
	grace = 40 * time.Second
)

// seeEstimate judges that an estimate becomes later, or goes, only with a reason. Clocks that
// differ make estimates differ, so that they must agree. The caller holds the lock.
func (c *checker) seeEstimate(before, after *v1alpha1.Benchmark) {
	was, is := before.Status.EstimatedStartTime, after.Status.EstimatedStartTime
	if !c.clocksAgree || c.two || was == nil || after.Status.TestBedName != "" || after.Status.Outcome != "" || after.Status.EstimateChange != "" {
		return
	}
	switch {
	case is == nil && strings.HasPrefix(after.Status.Message, "its bed could not be leased"):
		// That is the reason.
	case is == nil && after.Status.Phase == v1alpha1.PhaseQueued:
		c.violated("benchmark %s was to start at %s, and has no estimate any more: %s", after.Name, was.UTC(), after.Status.Message)
	case is != nil && is.Sub(was.Time) > tolerance(was.Time)+rounding:
		c.violated("benchmark %s was to start at %s, and is to start at %s, without a reason: %s", after.Name, was.UTC(), is.UTC(), after.Status.Message)
	}
}

// seeStart judges that a benchmark that gets a bed does so at its estimated time, or had the
// reason why not in its status before. The caller holds the lock.
func (c *checker) seeStart(uid string) {
	b := c.last[uid]
	if !c.clocksAgree || b == nil || b.Status.EstimatedStartTime == nil {
		return
	}
	switch late := c.able(b.Status.EstimatedStartTime.Time); {
	case b.Status.EstimateChange != "":
		c.promises.explained++
	case late <= time.Minute+grace:
		c.promises.kept++
	default:
		c.violated("benchmark %s was to start at %s, and starts %s later without a reason: %s", b.Name, b.Status.EstimatedStartTime.UTC(), late, b.Status.Message)
	}
}
