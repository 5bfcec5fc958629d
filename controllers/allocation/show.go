package allocation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/internal/human"
)

// Bounds of the writes that only inform people.
const (
	// showRate bounds the writes of places and counts over the whole lab, per second.
	showRate = 20
	// showAtOnce is the maximum number of places that are computed in one cycle.
	showAtOnce = 200
	// showPause is the time between cycles that compute places.
	showPause = 100 * time.Millisecond
)

// display keeps the status of those that wait, and the counts of beds, up to date at
// a bounded rate.
type display struct {
	limiter *rate.Limiter
	// news are benchmarks whose first message, or whose acceptance, is not written yet.
	news []queue.Key
	// pass and bedPass contain the rest of the current pass over all benchmarks and beds.
	pass    []queue.Key
	bedPass []string
	// stale reports whether something changed since the current pass began.
	stale bool
	next  time.Time
	// stalls is the time at which the next waiting benchmark counts as stalled; zero if none
	// will.
	stalls time.Time
	places places
	// policy is the time of the last write of the LabPolicy's status.
	policy shownAt
}

// shownAt is the time of the last write of an object's status, and whether a write is under
// way.
type shownAt struct {
	time    time.Time
	writing bool
}

func newDisplay() display { return display{limiter: rate.NewLimiter(showRate, 2*showRate)} }

// show writes what changed for people, as far as the rate allows, and returns when to
// continue.
func (a *Allocator) show(ctx context.Context, now time.Time) time.Duration {
	d := &a.shown
	if wait := d.next.Sub(now); wait > 0 && len(d.news) == 0 {
		return wait
	}
	if !d.stalls.IsZero() && !now.Before(d.stalls) {
		d.stalls, d.stale = time.Time{}, true
	}
	if len(d.pass) == 0 && len(d.bedPass) == 0 && d.stale {
		d.stale = false
		for key, w := range a.benchmarks {
			if w.class != nil {
				d.pass = append(d.pass, key)
			}
		}
		for name := range a.beds {
			d.bedPass = append(d.bedPass, name)
		}
	}
	s := a.snapshot(now)
	if a.policy != nil {
		a.showPolicy(ctx, s, now)
	}
	a.estimate(s, now)
	for range showAtOnce {
		if d.limiter.TokensAt(now) < 1 {
			return d.pause(now, showPause)
		}
		switch {
		case len(d.news) > 0:
			key := d.news[0]
			d.news = d.news[1:]
			a.showBenchmark(ctx, a.benchmarks[key], s, now, true)
		case len(d.bedPass) > 0:
			name := d.bedPass[0]
			d.bedPass = d.bedPass[1:]
			a.showBed(ctx, a.beds[name], now)
		case len(d.pass) > 0:
			key := d.pass[0]
			d.pass = d.pass[1:]
			a.showBenchmark(ctx, a.benchmarks[key], s, now, false)
		case d.stale:
			return d.pause(now, min(a.Refresh, time.Second))
		default:
			d.news = nil
			return a.showAgain(now)
		}
	}
	return d.pause(now, showPause)
}

// showAgain returns the time until the next update of the display even if nothing happens:
// shares, aging and estimates change with time.
func (a *Allocator) showAgain(now time.Time) time.Duration {
	wait := time.Hour
	if !a.shown.stalls.IsZero() {
		wait = min(wait, a.shown.stalls.Sub(now))
	}
	if a.queue.Len() > 0 || a.policy != nil {
		wait = min(wait, max(a.Refresh, time.Second))
	}
	return wait
}

func (d *display) pause(now time.Time, wait time.Duration) time.Duration {
	d.next = now.Add(wait)
	return wait
}

// due reports whether an object may be written now; if not it is checked again later.
func (d *display) due(at shownAt, now time.Time, refresh time.Duration, news bool) bool {
	if at.writing || (!news && now.Sub(at.time) < refresh) {
		d.stale = true
		return false
	}
	return true
}

// showBed writes how many wait for a bed.
func (a *Allocator) showBed(ctx context.Context, view *bedView, now time.Time) {
	if view == nil || view.granting != nil {
		return
	}
	bed, queued := view.bed, int32(a.queue.Waiting(view.bed.Name))
	if bed.Status.Queued == queued || !a.shown.due(view.shown, now, a.Refresh, false) {
		return
	}
	a.shown.limiter.AllowN(now, 1)
	view.shown.writing = true
	a.begin(func() written {
		after, err := kit.PatchBed(ctx, a.Client, bed, map[string]any{"queued": queued}, "")
		return func(now time.Time) {
			view.shown = shownAt{time: now}
			if err == nil {
				a.applyWritten(after)
			}
		}
	})
}

// showBenchmark writes where a benchmark waits, and why.
func (a *Allocator) showBenchmark(ctx context.Context, w *waiter, s queue.Snapshot, now time.Time, news bool) {
	if w == nil || w.class == nil || w.granting {
		return
	}
	if _, holds := a.holders[string(w.b.UID)]; holds {
		return
	}
	place, known := a.placeOf(queueKey(w.b), s, now)
	if !known {
		a.shown.stale = true // It came since the places were computed.
		return
	}
	want := a.explain(w, place, s)
	if want.Accepted { // What is not accepted starts at no time.
		want.Estimate, want.Change = a.estimateOf(w.b)
	}
	if want.IsShownBy(w.b, a.Now()) {
		left, waits := kit.StallsIn(w.b, a.Now())
		if waits && left > 0 && (a.shown.stalls.IsZero() || now.Add(left).Before(a.shown.stalls)) {
			a.shown.stalls = now.Add(left)
		}
		if !waits || left > 0 {
			return
		}
	}
	if !a.shown.due(w.shown, now, a.Refresh, news) {
		return
	}
	a.shown.limiter.AllowN(now, 1)
	w.shown.writing, w.promise = true, want.Estimate
	key, b := queueKey(w.b), w.b.DeepCopy()
	a.begin(func() written {
		sc := kit.NewScope(b, a.Now(), a.Timers)
		want.Write(sc)
		err := a.StatusWriter().Store(ctx, sc, nil)
		if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "The place in the queue could not be stored", "benchmark", key.String())
		}
		return func(now time.Time) {
			if w := a.benchmarks[key]; w != nil && w.b.UID == b.UID {
				w.shown, w.promise = shownAt{time: now}, time.Time{}
				if err == nil {
					a.applyBenchmark(key, sc.Benchmark)
				}
			}
		}
	})
}

// explain describes where and why a benchmark waits.
func (a *Allocator) explain(w *waiter, place queue.Place, s queue.Snapshot) kit.Explanation {
	if len(w.class.beds) == 0 {
		return kit.Explanation{Reason: v1alpha1.ReasonNotAccepted, Message: kit.Bounded(a.problemOf(w.class))}
	}
	if len(kit.BedsFor(w.b, w.class.beds)) == 0 {
		return kit.Explanation{Reason: v1alpha1.ReasonNotAccepted, Message: kit.Bounded(kit.CannotResume(w.b))}
	}
	if !w.retry.IsZero() {
		return kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonQueued, Message: "its bed could not be leased; the operator tries again, see its log"}
	}
	if place.Spent {
		t := a.teamOf(w.b.Namespace)
		return kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonLimitReached, Message: fmt.Sprintf(
			"its team %s has had beds for %s within the last week, and may have them for %d hours (maxBedHoursPerWeek of LabPolicy %s)",
			t.Name, human.Duration(a.bedHours(s.Now)[t.Name].Truncate(time.Minute)), t.MaxBedHoursPerWeek, v1alpha1.LabPolicyName)}
	}
	if place.Obstacle != nil {
		return a.explainGang(w, kit.ExplainResumption(w.b, a.explainObstacle(w.b, place, s.Now)))
	}
	return a.explainGang(w, kit.ExplainResumption(w.b, explainPlace(place, func(name string) *v1alpha1.TestBed {
		if view := a.beds[name]; view != nil {
			return view.bed
		}
		return nil
	}, s)))
}

// explainPlace describes what the benchmark at a place waits for.
func explainPlace(place queue.Place, bedOf func(string) *v1alpha1.TestBed, s queue.Snapshot) kit.Explanation {
	e := kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonQueued}
	bed := bedOf(place.WaitsFor)
	what := "waits for bed " + place.WaitsFor
	if place.Beds > 1 {
		what = fmt.Sprintf("waits for one of %d beds", place.Beds)
	}
	switch {
	case bed == nil:
		what = "waits for a bed"
	case place.Limit != nil:
		e.Reason = v1alpha1.ReasonLimitReached
		what += limitReached(place.Limit)
	case !kit.IsOpen(bed):
		e.Reason = v1alpha1.ReasonBedNotReady
		why := "is not ready: " + notReady(bed)
		if bed.Spec.Unschedulable {
			e.Reason, why = v1alpha1.ReasonBedUnschedulable, "takes no new benchmarks (spec.unschedulable): kubectl nodrop uncordon "+bed.Name
		}
		if place.Beds > 1 {
			what += ", none of which takes benchmarks now; bed " + bed.Name + " " + why
		} else {
			what += ", which " + why
		}
	case place.Beds == 1 && bed.Status.Lease != nil:
		what += ", which " + bed.Status.Lease.Holder + " has"
	case place.Beds == 1:
		if other, shared := kit.Conflicting(bed, s.Beds[bed.Name].Conflicts, bedOf); other != nil {
			what += fmt.Sprintf(", whose interface %s bed %s has too, which %s has", shared, other.Name, other.Status.Lease.Holder)
		}
	}
	switch place.Ahead {
	case 0:
		what += "; comes next"
	case 1:
		what += "; 1 benchmark comes first"
	default:
		what += fmt.Sprintf("; %d benchmarks come first", place.Ahead)
	}
	e.Message = kit.Bounded(what)
	return e
}

// limitReached describes which limit is reached.
func limitReached(l *queue.Limit) string {
	if name, of := strings.CutPrefix(l.Key, teamLimit); of {
		return fmt.Sprintf("; its team %s may have %d beds at once (maxRunning of LabPolicy %s)", name, l.Max, v1alpha1.LabPolicyName)
	}
	return fmt.Sprintf(", of which its namespace may have %d at once (spec.access.maxRunning of the bed)", l.Max)
}

func notReady(bed *v1alpha1.TestBed) string {
	c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.ObservedGeneration != bed.Generation {
		return "the operator has not checked it yet"
	}
	return c.Message
}
