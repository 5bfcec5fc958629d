package allocation

import (
	"fmt"
	"maps"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/controllers/share"
	"nodrop.dev/nodrop/internal/reservation"
)

// forecasts is the maximum number of benchmarks for which a start is estimated: those that
// come first.
const forecasts = 500

// forecast contains the expected starts of benchmarks.
type forecast struct {
	starts map[queue.Key]queue.Start
	// of is the queue that it was computed for; nil before the first one.
	of *queue.Queue
	// holders of beds when it was computed, and when they were expected to end.
	holders map[string]queue.Key
	ends    map[string]queue.End
	// computed is the time of the computation, and computing reports whether the next one is
	// under way.
	computed  time.Time
	computing bool
	// changes contains the reasons why estimates became later.
	changes map[queue.Key]string
}

// estimate computes a forecast if the last one is old enough, concurrently with the
// allocator.
func (a *Allocator) estimate(s queue.Snapshot, now time.Time) {
	f := &a.forecast
	every := min(a.Refresh, time.Duration(a.queue.Len())*10*time.Millisecond)
	if f.computing || a.queue.Len() == 0 || now.Sub(f.computed) < every {
		return
	}
	f.computing = true
	next := forecast{computed: now, holders: map[string]queue.Key{}, ends: a.ends(s.Now), changes: map[queue.Key]string{}}
	for name, view := range a.beds {
		next.holders[name] = view.holder()
	}
	due := map[share.Account]float64{}
	if a.sharing != nil {
		for _, account := range a.sharing.Book.Accounts() {
			due[account] = a.sharing.Book.Entitled(account)
		}
	}
	waiting := a.queue.Clone()
	next.of = waiting
	a.begin(func() written {
		next.starts = waiting.Forecast(s, next.ends, due, forecasts)
		return func(time.Time) { a.estimated(next, s.Now) }
	})
}

// ends returns the times at which the beds are expected to be returned.
func (a *Allocator) ends(now time.Time) map[string]queue.End {
	ends := map[string]queue.End{}
	for name, view := range a.beds {
		w := a.benchmarks[view.holder()]
		if w == nil {
			continue
		}
		expected, since := a.expected(w), now
		if l := view.bed.Status.Lease; l != nil {
			since = l.AcquireTime.Time
		}
		if expected == 0 {
			continue
		}
		end := queue.End{At: since.Add(expected)}
		if overdue := now.Sub(end.At); overdue >= 0 {
			// It takes longer than it did before: as long again as it is late, and a minute.
			end.At = now.Add(overdue + time.Minute)
		}
		if ns := a.namespaces[w.b.Namespace]; ns != nil {
			for _, l := range a.limits(view.bed, ns, w.b) {
				end.Keys = append(end.Keys, l.Key)
			}
		}
		ends[name] = end
	}
	return ends
}

// estimated takes over a forecast.
func (a *Allocator) estimated(next forecast, now time.Time) {
	last := a.forecast
	maps.Copy(next.changes, last.changes)
	for key := range next.changes {
		if !a.queue.Has(key) {
			delete(next.changes, key)
		}
	}
	for key, w := range a.benchmarks {
		// Against what people see, or are about to see: it may have become later little by
		// little, or be of an operator before.
		was := queue.Start{At: w.promise, Bed: last.starts[key].Bed}
		if shown := w.b.Status.EstimatedStartTime; was.At.IsZero() && shown != nil {
			was.At = shown.Time
		}
		if was.At.IsZero() || !a.queue.Has(key) || !next.of.Has(key) {
			continue
		}
		is := next.starts[key]
		if !missed(was.At, is.At, now) {
			if is.At.Before(was.At) {
				delete(next.changes, key)
			}
			continue
		}
		next.changes[key] = a.whyLater(key, was, last, now)
	}
	a.forecast = next
	a.shown.stale = true
}

// later reports whether an estimate became later by more than is worth a write.
func later(was, is, now time.Time) bool { return is.Sub(was) > kit.Tolerance(was, now) }

// missed reports whether an estimate became later or no longer exists.
func missed(was, is, now time.Time) bool { return is.IsZero() || later(was, is, now) }

// whyLater returns the reason why a benchmark does not start at the expected time.
func (a *Allocator) whyLater(key queue.Key, was queue.Start, last forecast, now time.Time) string {
	at := was.At.UTC().Format(time.RFC3339)
	if was.Bed == "" {
		return "it was expected to start at " + at + "; the operator was replaced since, and it is estimated from what is there now"
	}
	before := "it was expected to start on bed " + was.Bed + " at " + at
	view := a.beds[was.Bed]
	if view == nil || !kit.IsOpen(view.bed) {
		return fmt.Sprintf("%s, which takes no benchmarks now", before)
	}
	w := a.benchmarks[key]
	for i := range view.reserved {
		s := &view.reserved[i]
		if w != nil && s.Reservation != kit.ReservationOf(w.b) && s.Until.After(was.At) && s.From.Before(was.At.Add(a.Deadlines.HoldOf(w.b))) {
			return fmt.Sprintf("%s; reservation %s has it %s", before, s.Reservation, reservation.Span{From: s.From, Until: s.Until})
		}
	}
	if holder := view.holder(); holder != (queue.Key{}) && holder == last.holders[was.Bed] && !last.ends[was.Bed].At.After(now) {
		return fmt.Sprintf("%s; %s has it for longer than such benchmarks had before", before, holder)
	}
	return before + "; others come first that came since, whose team is further behind, or whose priority is higher"
}

// estimateOf returns the time at which a benchmark is expected to start, and why that changed.
func (a *Allocator) estimateOf(b *v1alpha1.Benchmark) (start time.Time, change string) {
	key := queueKey(b)
	if of := a.forecast.of; a.queue.Has(key) && (of == nil || !of.Has(key)) {
		// No forecast was made with it since it waits: what was promised before stays.
		if shown := b.Status.EstimatedStartTime; shown != nil {
			start = shown.Time
		}
		return start, b.Status.EstimateChange
	}
	start = a.forecast.starts[key].At
	if shown := b.Status.EstimatedStartTime; shown != nil && a.queue.Has(key) && a.benchmarks[key].promise.IsZero() &&
		a.forecast.changes[key] == "" && missed(shown.Time, start, a.Now()) {
		// Another operator that leads, or did, has estimated that since the forecast was made.
		a.forecast.changes[key] = a.whyLater(key, queue.Start{At: shown.Time}, a.forecast, a.Now())
	}
	return start, kit.Bounded(a.forecast.changes[key])
}
