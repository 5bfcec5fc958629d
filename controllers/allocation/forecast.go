package allocation

import (
	"fmt"
	"maps"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/lab/share"
	"nodrop.dev/nodrop/internal/manifests/reservation"
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

// estimates keeps the expected starts of waiting benchmarks, and the reasons why they moved.
type estimates struct {
	forecast  forecast
	refresh   time.Duration
	deadlines kit.Deadlines

	view     *view
	requests *requests
}

// update computes a forecast if the last one is old enough, concurrently with the
// allocator.
func (e *estimates) update(s queue.Snapshot, now time.Time) {
	f, v := &e.forecast, e.view
	every := min(e.refresh, time.Duration(v.line.queue.Len())*10*time.Millisecond)
	if f.computing || v.line.queue.Len() == 0 || now.Sub(f.computed) < every {
		return
	}
	f.computing = true
	next := forecast{computed: now, holders: map[string]queue.Key{}, ends: e.ends(s.Now), changes: map[queue.Key]string{}}
	for name, seen := range v.inventory.beds {
		next.holders[name] = seen.holder()
	}
	due := map[share.Account]float64{}
	if sharing := v.shares.sharing; sharing != nil {
		for _, account := range sharing.Book.Accounts() {
			due[account] = sharing.Book.Entitled(account)
		}
	}
	waiting := v.line.queue.Clone()
	next.of = waiting
	e.requests.begin(func() written {
		next.starts = waiting.Forecast(s, next.ends, due, forecasts)
		return func(time.Time) { e.estimated(next, s.Now) }
	})
}

// ends returns the times at which the beds are expected to be returned.
func (e *estimates) ends(now time.Time) map[string]queue.End {
	ends := map[string]queue.End{}
	inv := e.view.inventory
	for name, seen := range inv.beds {
		w := inv.benchmarks[seen.holder()]
		if w == nil {
			continue
		}
		expected, since := e.view.past.expected(w), now
		if l := seen.bed.Status.Lease; l != nil {
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
		for _, l := range e.view.teams.limits(seen.bed, w.b) {
			end.Keys = append(end.Keys, l.Key)
		}
		ends[name] = end
	}
	return ends
}

// estimated takes over a forecast.
func (e *estimates) estimated(next forecast, now time.Time) {
	last := e.forecast
	maps.Copy(next.changes, last.changes)
	for key := range next.changes {
		if !e.view.line.queue.Has(key) {
			delete(next.changes, key)
		}
	}
	for key, w := range e.view.inventory.benchmarks {
		// Against what people see, or are about to see: it may have become later little by
		// little, or be of an operator before.
		was := queue.Start{At: w.promise, Bed: last.starts[key].Bed}
		if shown := w.b.Status.EstimatedStartTime; was.At.IsZero() && shown != nil {
			was.At = shown.Time
		}
		if was.At.IsZero() || !e.view.line.queue.Has(key) || !next.of.Has(key) {
			continue
		}
		is := next.starts[key]
		if !missed(was.At, is.At, now) {
			if is.At.Before(was.At) {
				delete(next.changes, key)
			}
			continue
		}
		next.changes[key] = e.whyLater(key, was, last, now)
	}
	e.forecast = next
	e.view.agenda.stale = true
}

// later reports whether an estimate became later by more than is worth a write.
func later(was, is, now time.Time) bool { return is.Sub(was) > kit.Tolerance(was, now) }

// missed reports whether an estimate became later or no longer exists.
func missed(was, is, now time.Time) bool { return is.IsZero() || later(was, is, now) }

// whyLater returns the reason why a benchmark does not start at the expected time.
func (e *estimates) whyLater(key queue.Key, was queue.Start, last forecast, now time.Time) string {
	at := was.At.UTC().Format(time.RFC3339)
	if was.Bed == "" {
		return "it was expected to start at " + at + "; the operator was replaced since, and it is estimated from what is there now"
	}
	before := "it was expected to start on bed " + was.Bed + " at " + at
	seen := e.view.inventory.beds[was.Bed]
	if seen == nil || !kit.IsOpen(seen.bed) {
		return fmt.Sprintf("%s, which takes no benchmarks now", before)
	}
	w := e.view.inventory.benchmarks[key]
	for i := range seen.reserved {
		s := &seen.reserved[i]
		if w != nil && s.Reservation != kit.ReservationOf(w.b) && s.Until.After(was.At) && s.From.Before(was.At.Add(e.deadlines.HoldOf(w.b))) {
			return fmt.Sprintf("%s; reservation %s has it %s", before, s.Reservation, reservation.Span{From: s.From, Until: s.Until})
		}
	}
	if holder := seen.holder(); holder != (queue.Key{}) && holder == last.holders[was.Bed] && !last.ends[was.Bed].At.After(now) {
		return fmt.Sprintf("%s; %s has it for longer than such benchmarks had before", before, holder)
	}
	return before + "; others come first that came since, whose team is further behind, or whose priority is higher"
}

// startOf returns the time at which a benchmark is expected to start, and why that changed.
func (e *estimates) startOf(b *v1alpha1.Benchmark) (start time.Time, change string) {
	key := queueKey(b)
	if of := e.forecast.of; e.view.line.queue.Has(key) && (of == nil || !of.Has(key)) {
		// No forecast was made with it since it waits: what was promised before stays.
		if shown := b.Status.EstimatedStartTime; shown != nil {
			start = shown.Time
		}
		return start, b.Status.EstimateChange
	}
	start = e.forecast.starts[key].At
	if shown := b.Status.EstimatedStartTime; shown != nil && e.view.line.queue.Has(key) && e.view.inventory.benchmarks[key].promise.IsZero() &&
		e.forecast.changes[key] == "" && missed(shown.Time, start, e.view.now()) {
		// Another operator that leads, or did, has estimated that since the forecast was made.
		e.forecast.changes[key] = e.whyLater(key, queue.Start{At: shown.Time}, e.forecast, e.view.now())
	}
	return start, kit.Bounded(e.forecast.changes[key])
}
