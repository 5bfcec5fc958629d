package allocation

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/lab/past"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// week is the time over which bed-hours are limited.
const week = 7 * 24 * time.Hour

// work identifies what a benchmark measures, whatever its bed: two of the same work take about as long.
type work struct {
	// own identifies it within a namespace, and like in all of them; like is empty if the profile is not known.
	own, like string
}

// name returns the name by which a forecast knows the work.
func (w work) name() string { return cmp.Or(w.like, w.own) }

// workOf returns the work of a benchmark, whose profile has this spec; nil if the profile is not known.
func workOf(b *v1alpha1.Benchmark, profile *digest) work {
	text, err := json.Marshal([]any{
		b.Spec.Tests, b.Spec.FrameSizes, b.Spec.Variants, b.Spec.DeviceImage, b.Spec.DeviceParameters, b.Spec.SettleTime, b.Spec.RestTime,
	})
	if err != nil {
		panic(err) // The types have nothing that cannot be marshalled.
	}
	digest := sha256.Sum256(text)
	w := work{own: b.Namespace + "/" + b.Spec.TrafficProfileName + "/" + string(digest[:])}
	if profile != nil {
		w.like = string(profile[:]) + string(digest[:])
	}
	return w
}

// ended contains the bed times of finished benchmarks.
type ended struct {
	record *past.Record
	// profiles are the specs of the traffic profiles.
	profiles map[queue.Key]*digest
	// last is the last benchmark of each bed that was measured to its end.
	last map[string]*v1alpha1.Benchmark
	// uses contains the bed times within a week, by UID.
	uses map[types.UID]use
	// works remembers what benchmarks measure, and worksBefore has what an earlier view remembered; nil without that.
	works, worksBefore works
}

// works contains the work of benchmarks, by their UIDs.
type works map[types.UID]workAt

// workAt is the work of one of the generations of a spec, with a version of the spec of its profile.
type workAt struct {
	generation int64
	profile    digest
	work       work
}

// workOf returns the work of a benchmark, by the profiles that are known.
func (e *ended) workOf(b *v1alpha1.Benchmark) work {
	profile := e.profiles[queue.Key{Namespace: b.Namespace, Name: b.Spec.TrafficProfileName}]
	if e.works == nil || b.UID == "" || b.Generation == 0 {
		return workOf(b, profile)
	}
	var version digest
	if profile != nil {
		version = *profile
	}
	for _, known := range [2]works{e.works, e.worksBefore} {
		if at, is := known[b.UID]; is && at.generation == b.Generation && at.profile == version {
			e.works[b.UID] = at
			return at.work
		}
	}
	at := workAt{b.Generation, version, workOf(b, profile)}
	e.works[b.UID] = at
	return at.work
}

// use is the bed time of a finished benchmark.
type use struct {
	namespace string
	until     time.Time
	length    time.Duration
	// bed and run are the bed that the benchmark had last, and the run that it was for, if the
	// benchmark has left nothing in the lab.
	bed string
	run labobjects.Run
}

func newEnded() *ended {
	return &ended{record: past.NewRecord(), profiles: map[queue.Key]*digest{}, last: map[string]*v1alpha1.Benchmark{}, uses: map[types.UID]use{}}
}

// applyProfile takes over a version of a profile; nil when it is gone.
func (e *ended) applyProfile(key queue.Key, p *v1alpha1.TrafficProfile) {
	if p == nil {
		delete(e.profiles, key)
		return
	}
	spec := digestOf(&p.Spec)
	e.profiles[key] = &spec
}

// unfinished returns the work of a benchmark that is not finished.
func (e *ended) unfinished(w *waiter) work {
	if w.class != nil {
		return w.class.work
	}
	return e.workOf(w.b)
}

// learn takes over a finished benchmark, once. It returns its work, and whether that is known for the first time.
func (e *ended) learn(b *v1alpha1.Benchmark, now time.Time) (of work, first bool) {
	s := &b.Status
	if s.StartTime == nil || s.CompletionTime == nil || !s.Phase.Finished() || now.Sub(s.CompletionTime.Time) > week {
		return of, false
	}
	if _, known := e.uses[b.UID]; known {
		return of, false
	}
	length := lengthOf(b)
	used := use{namespace: b.Namespace, until: s.CompletionTime.Time, length: max(length, time.Second)}
	if kit.IsTrue(s.Conditions, v1alpha1.ConditionCleanedUp) {
		used.bed, used.run = s.TestBedName, labobjects.Run{UID: string(b.UID), Attempt: s.Attempt}
	}
	e.uses[b.UID] = used
	of = e.workOf(b)
	first = e.record.Length(of.own, "", "") == 0
	run := past.Run{Work: of.own, Like: of.like, Bed: s.TestBedName, Created: b.CreationTimestamp.Time, From: s.StartTime.Time, Until: s.CompletionTime.Time, Length: length}
	if s.LeaseTime != nil {
		run.From = s.LeaseTime.Time
	}
	switch s.Phase {
	case v1alpha1.PhasePassed, v1alpha1.PhaseMeasured, v1alpha1.PhaseFailed, v1alpha1.PhaseInconclusive:
		if last := e.last[run.Bed]; last == nil || last.Status.CompletionTime.Before(s.CompletionTime) {
			e.last[run.Bed] = b
		}
	default:
		run.Cut = true
	}
	e.record.Add(run)
	return of, first && !run.Cut
}

// until returns the time at which the holder of a lease ended; false if it is not known to have ended.
func (e *ended) until(l *v1alpha1.BedLease) (time.Time, bool) {
	if l == nil {
		return time.Time{}, false
	}
	u, known := e.uses[types.UID(l.UID)]
	return u.until, known
}

// returned reports whether the holder of a bed has ended and left nothing in the lab, and no other
// lease of it is being written.
func (e *ended) returned(seen *bedView) bool {
	bed, lease := seen.bed, seen.lease()
	if lease == nil || !kit.Releasable(bed) {
		return false
	}
	u, known := e.uses[types.UID(lease.UID)]
	return known && u.bed == bed.Name && kit.HasLease(bed, u.run)
}

// lengthOf returns the time for which a finished benchmark had a bed.
func lengthOf(b *v1alpha1.Benchmark) time.Duration {
	if b.Status.Preemptions > 0 {
		return time.Duration(b.Status.ActiveSeconds) * time.Second
	}
	return b.Status.CompletionTime.Sub(b.Status.StartTime.Time)
}

// forget forgets what is older than a week.
func (e *ended) forget(now time.Time) {
	for uid, u := range e.uses {
		if now.Sub(u.until) > week {
			delete(e.uses, uid)
		}
	}
	e.record.Forget(now.Add(-week))
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
func (e *ended) expected(w *waiter) time.Duration {
	if w.class != nil {
		if d := e.length(w, ""); d > 0 {
			return d
		}
		return w.class.planned
	}
	if w.expected == 0 {
		w.expected = e.length(w, "")
	}
	return w.expected
}

// length returns the time for which a benchmark is expected to have a bed, by what the same work took; 0 if that is not known.
func (e *ended) length(w *waiter, bed string) time.Duration {
	of := e.unfinished(w)
	return e.record.Length(of.own, of.like, bed)
}
