package histories

import (
	"context"
	"testing"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// timeLayout is the layout of time.Time. Package time has no way to set the wall clock of a
// time apart from its monotonic clock.
type timeLayout struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

const (
	hasMonotonic = 1 << 63
	nanoBits     = 30
)

// secondsOf1885 is where the wall clock of a time with a monotonic clock begins.
var secondsOf1885 = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// stepped returns a time whose wall clock was set by d, and whose monotonic clock goes on, as
// time.Now returns it after a step of the clock. In simulated time, time.Now has no monotonic
// clock: there the time that has passed since the year 2000 is one.
func stepped(t time.Time, d time.Duration) time.Time {
	wall := t.Round(0).Add(d)
	l := (*timeLayout)(unsafe.Pointer(&t)) // TestStepped tests the layout.
	if l.wall&hasMonotonic == 0 {
		l.ext = t.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Nanoseconds()
	}
	l.wall = hasMonotonic | uint64(wall.Unix()-secondsOf1885)<<nanoBits | uint64(wall.Nanosecond())
	return t
}

// step sets the clock of an operator.
func (l *link) step(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stepped += d
}

// now is the clock of an operator.
func (l *link) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return stepped(time.Now().Add(l.skew), l.stepped)
}

// stepOf is by how much a clock is set: up to 6 hours in either direction.
func stepOf(much int) time.Duration { return time.Duration(much%13-6) * time.Hour }

// setClock sets the clock of the operator, or that of the API server.
func (w *world) setClock(e event) {
	d := stepOf(e.much)
	if e.which%2 == 0 || w.api == nil {
		w.operator().link.step(d)
		w.check.expireCertificates()
		return
	}
	w.api.step(d)
}

// expireCertificates lets runs end since their certificates have expired: they are valid until
// the deadline of the run, by the clock of the operator that issued them.
func (c *checker) expireCertificates() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clockSet = true
}

// expired reports whether a benchmark ended since its certificates have expired after a clock was
// set. The caller holds the lock.
func (c *checker) expired(b *v1alpha1.Benchmark) bool {
	if !c.clockSet {
		return false
	}
	for _, cond := range b.Status.Conditions {
		if cond.Reason == v1alpha1.ReasonCertificatesExpired {
			return true
		}
	}
	return false
}

// seeTimes judges the times of a finished benchmark. The caller holds the lock.
func (c *checker) seeTimes(b *v1alpha1.Benchmark) {
	s := &b.Status
	if s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		c.violated("benchmark %s ended at %s, before its begin at %s", b.Name, s.CompletionTime.UTC(), s.StartTime.UTC())
	}
}

func TestStepped(t *testing.T) {
	now := time.Now()
	for _, d := range []time.Duration{-6 * time.Hour, 0, time.Hour} {
		at := stepped(now, d)
		if got := at.Round(0).Sub(now.Round(0)); got != d {
			t.Errorf("the wall clock was set by %s, want %s", got, d)
		}
		if got := stepped(now.Add(time.Second), d).Sub(stepped(now, 0)); got != time.Second {
			t.Errorf("by the monotonic clock, %s passed, want 1s", got)
		}
	}
}

// TestClockSetBackIntoReservation sets the clock of an operator back into a reservation that was over:
// until its end by that clock, the bed is leased to no other team.
func TestClockSetBackIntoReservation(t *testing.T) {
	inBubble(t, 1, func(w *world, _ *fakeAPI) {
		ctx := context.Background()
		stop := w.begin(ctx)
		defer stop()
		at := func(clock time.Duration) time.Time { return w.operator().link.now().Add(clock).Round(0) }
		r := booked(1, "sim", 0, time.Now())
		r.Spec.From, r.Spec.Until = metav1.NewTime(at(-2*time.Hour)), metav1.NewTime(at(-time.Hour))
		if err := w.Create(ctx, r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.operator().link.step(-90 * time.Minute)
		b := benchmark("b0", "sim", 0)
		if err := w.Create(ctx, b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		if phase := w.phaseOf(ctx, "b0"); phase != v1alpha1.PhaseQueued {
			t.Errorf("within the reservation, b0 is %s, want %s", phase, v1alpha1.PhaseQueued)
		}
		w.until(ctx, t, "b0 is measured after the reservation", time.Hour, func() bool { return w.phaseOf(ctx, "b0") == v1alpha1.PhaseMeasured })
	})
}
