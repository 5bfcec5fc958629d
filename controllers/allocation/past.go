package allocation

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// week is the time over which bed-hours are limited.
const week = 7 * 24 * time.Hour

// remembered is the number of durations that are kept for one kind of work.
const remembered = 7

// work identifies what benchmarks measure: two of the same work take about as long.
type work struct {
	namespace string
	digest    [sha256.Size]byte
}

// workOf is the work of a benchmark.
func workOf(b *v1alpha1.Benchmark) work {
	text, err := json.Marshal([]any{
		b.Spec.TrafficProfileName, b.Spec.Tests, b.Spec.FrameSizes, b.Spec.Variants, b.Spec.DeviceImage, b.Spec.TestBedName, b.Spec.TestBedSelector, b.Spec.TestBedRequirements, b.Spec.SettleTime, b.Spec.RestTime,
	})
	if err != nil {
		panic(err) // The types have nothing that cannot be marshalled.
	}
	return work{b.Namespace, sha256.Sum256(text)}
}

// past contains the bed times of finished benchmarks.
type past struct {
	// took are the last durations by work.
	took map[work][]time.Duration
	// uses contains the bed times within a week, by UID.
	uses map[types.UID]use
}

// use is the bed time of a finished benchmark.
type use struct {
	namespace string
	until     time.Time
	length    time.Duration
}

func newPast() *past {
	return &past{took: map[work][]time.Duration{}, uses: map[types.UID]use{}}
}

// learn takes over a finished benchmark, once.
func (p *past) learn(b *v1alpha1.Benchmark, now time.Time) {
	s := &b.Status
	if s.StartTime == nil || s.CompletionTime == nil || !s.Phase.Finished() || now.Sub(s.CompletionTime.Time) > week {
		return
	}
	if _, known := p.uses[b.UID]; known {
		return
	}
	length := s.CompletionTime.Sub(s.StartTime.Time)
	if s.Preemptions > 0 {
		length = time.Duration(s.ActiveSeconds) * time.Second
	}
	length = max(length, time.Second) // Times in the status are whole seconds.
	p.uses[b.UID] = use{namespace: b.Namespace, until: s.CompletionTime.Time, length: length}
	switch s.Phase {
	case v1alpha1.PhasePassed, v1alpha1.PhaseMeasured, v1alpha1.PhaseFailed, v1alpha1.PhaseInconclusive:
		w := workOf(b)
		took := append(p.took[w], length)
		p.took[w] = took[max(len(took)-remembered, 0):]
	}
}

// typical is the median of what work took; 0 when there was none of it.
func (p *past) typical(w work) time.Duration {
	took := slices.Sorted(slices.Values(p.took[w]))
	if len(took) == 0 {
		return 0
	}
	return took[len(took)/2]
}

// forget forgets what is older than a week.
func (p *past) forget(now time.Time) {
	for uid, u := range p.uses {
		if now.Sub(u.until) > week {
			delete(p.uses, uid)
		}
	}
}

// within is the part of a use in the week before a time.
func (u use) within(now time.Time) time.Duration {
	from := u.until.Add(-u.length)
	if begin := now.Add(-week); from.Before(begin) {
		from = begin
	}
	return max(u.until.Sub(from), 0)
}

// expected returns the time for which a benchmark is expected to have its bed: what the same
// work took, or else what its plan says; 0 where neither is known.
func (p *past) expected(w *waiter) time.Duration {
	if w.class != nil {
		if d := p.typical(w.class.work); d > 0 {
			return d
		}
		return w.class.planned
	}
	if w.expected == 0 {
		w.expected = p.typical(workOf(w.b))
	}
	return w.expected
}
