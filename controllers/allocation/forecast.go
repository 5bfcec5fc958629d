package allocation

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/past"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// forecasts is the maximum number of benchmarks for which a start is estimated: those that
// come first.
const forecasts = 500

// forecast returns when waiting benchmarks are expected to get a bed, for those that come first.
func (v *view) forecast(s queue.Snapshot) map[queue.Key]queue.Start {
	l := newLengths(v, s.Now)
	return v.line.queue.Expect(s, queue.Outlook{
		Ends: v.ends(s, l), Sharing: v.shares.sharing, Most: forecasts,
		Lasts: func(e *queue.Entry, bed string) time.Duration { return l.lasts(v.inventory.benchmarks[e.Key], bed) },
	})
}

// ends returns the times at which the beds are expected to be free for the next benchmark.
func (v *view) ends(s queue.Snapshot, l *lengths) map[string]queue.End {
	ends := map[string]queue.End{}
	for name, seen := range v.inventory.beds {
		if seen.holder() == (queue.Key{}) || v.passesOn(seen) {
			continue
		}
		end := queue.End{Run: v.shares.runOf(seen)}
		lease := seen.lease()
		until, ended := v.ended.until(lease)
		w := v.inventory.benchmarks[seen.holder()]
		if w == nil && !ended {
			continue
		}
		if w == nil {
			end.At = s.Now.Add(past.Left(l.turnover, s.Now.Sub(until)))
			ends[name] = end
			continue
		}
		switch lasts := l.lasts(w, name); {
		case lease != nil && lease.Preemption != nil && w.b.Spec.Preemptible:
			end.At = s.Now.Add(l.turnover)
		case lasts > 0:
			end.At = s.Now.Add(past.Left(lasts, s.Now.Sub(end.Run.Since)))
		}
		for _, limit := range v.teams.limits(seen.bed, w.b) {
			end.Keys = append(end.Keys, limit.Key)
		}
		ends[name] = end
	}
	return ends
}

// lengths knows how long benchmarks are expected to have beds.
type lengths struct {
	view *view
	// turnover is the time from the end of one benchmark until the next one has its bed.
	turnover time.Duration
	// overhead is the typical time by which benchmarks have a bed longer than planned, and simulated the
	// average time for which they have a simulated bed.
	overhead, simulated time.Duration
}

func newLengths(v *view, now time.Time) *lengths {
	l := &lengths{view: v, turnover: v.ended.record.Turnover()}
	var over []time.Duration
	for name, b := range v.ended.last {
		if planned := l.planned(b, name); planned > 0 {
			over = append(over, lengthOf(b)-planned)
		}
	}
	l.overhead = max(past.Typical(over), 0)
	var held time.Duration
	for name, seen := range v.inventory.beds {
		if lease := seen.bed.Status.Lease; lease != nil && l.isSimulated(name) {
			held += max(now.Sub(lease.AcquireTime.Time), 0)
		}
	}
	l.simulated = v.ended.record.Average(l.isSimulated, held)
	return l
}

func (l *lengths) isSimulated(name string) bool {
	bed := l.view.inventory.bed(name)
	return bed != nil && isSimulated(bed)
}

// planned is about how long a benchmark takes on a bed by its plan; 0 if that is not known.
func (l *lengths) planned(b *v1alpha1.Benchmark, name string) time.Duration {
	bed := l.view.inventory.bed(name)
	if bed == nil {
		return 0
	}
	return planned(b, l.view.judge.profiles[queue.Key{Namespace: b.Namespace, Name: b.Spec.TrafficProfileName}], bed)
}

// lasts returns the time from the lease of a bed for a benchmark until the next one can have it; 0 if
// that is not known. It follows from the past of the same work; or else from the plan and the overhead;
// or else, on a simulated bed, whose time is not that of the plan, from the average there.
func (l *lengths) lasts(w *waiter, bed string) time.Duration {
	length := l.view.ended.length(w, bed)
	if length == 0 {
		if length = l.plannedOf(w, bed); length > 0 {
			length += l.overhead
		} else if l.isSimulated(bed) {
			length = l.simulated
		}
	}
	if length == 0 {
		return 0
	}
	return length + l.turnover
}

func (l *lengths) plannedOf(w *waiter, bed string) time.Duration {
	if w.class != nil {
		return w.class.planned
	}
	return l.planned(w.b, bed)
}
