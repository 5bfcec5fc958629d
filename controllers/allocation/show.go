package allocation

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
)

const (
	// showAtOnce is the maximum number of objects that are looked at in one cycle.
	showAtOnce = 200
	// showPause is the time between cycles that look at objects.
	showPause = 100 * time.Millisecond
)

// display keeps the status of those that wait, the counts of beds and the standings of teams up
// to date at a bounded rate.
type display struct {
	client client.StatusClient
	status kit.StatusWriter
	timers *kit.Timers
	// now is the operator's clock, and refresh is the minimum interval between two writes of an
	// object.
	now     func() time.Time
	refresh time.Duration
	budget  *budget
	next    time.Time
	// policy is the time of the last write of the LabPolicy's status.
	policy shownAt

	view      *view
	explainer *explainer
	requests  *requests
}

func newDisplay(b kit.Base, v *view, r *requests) *display {
	return &display{
		client: b.Client, status: b.StatusWriter(), timers: b.Timers, now: b.Now, refresh: b.Refresh,
		budget: newBudget(), view: v, requests: r,
		explainer: &explainer{view: v, deadlines: b.Deadlines},
	}
}

// show writes what changed for people, as far as the rate allows, and returns when to
// continue.
func (d *display) show(ctx context.Context, now time.Time) time.Duration {
	g, inv := d.view.agenda, d.view.inventory
	if wait := d.next.Sub(now); wait > 0 && !g.hasNews() {
		return wait
	}
	g.begin(inv, now)
	if d.view.teams.policy != nil {
		d.showPolicy(ctx, d.view.snapshot(now), now)
	}
	for range showAtOnce {
		if !d.budget.has(now) {
			return d.pause(now, showPause)
		}
		key, news := g.nextNews()
		switch {
		case news:
			d.showBenchmark(ctx, inv.benchmarks[key], now, true)
		case len(g.plain) > 0 && d.budget.hasPlain(now):
			if w := inv.benchmarks[g.nextPlain()]; w != nil {
				w.deferred = false
				d.showBenchmark(ctx, w, now, true)
			}
		case len(g.beds) > 0:
			name := g.beds[0]
			g.beds = g.beds[1:]
			d.showBed(ctx, inv.beds[name], now)
		case len(g.benchmarks) > 0:
			key := g.benchmarks[0]
			g.benchmarks = g.benchmarks[1:]
			d.showBenchmark(ctx, inv.benchmarks[key], now, false)
		case len(g.plain) > 0:
			return d.pause(now, showPause)
		case g.stale:
			return d.pause(now, min(d.refresh, time.Second))
		default:
			return d.showAgain(now)
		}
	}
	return d.pause(now, showPause)
}

// showAgain returns the time until the next update of the display even if nothing happens: the
// standings of teams change with time.
func (d *display) showAgain(now time.Time) time.Duration {
	wait := time.Hour
	if stalls := d.view.agenda.stalls; !stalls.IsZero() {
		wait = min(wait, stalls.Sub(now))
	}
	if d.view.teams.policy != nil {
		wait = min(wait, max(d.refresh, time.Second))
	}
	return wait
}

func (d *display) pause(now time.Time, wait time.Duration) time.Duration {
	d.next = now.Add(wait)
	return wait
}

// due reports whether an object may be written now; if not it is checked again later.
func (d *display) due(at shownAt, now time.Time, news bool) bool {
	if at.writing || (!news && now.Sub(at.time) < d.refresh) {
		d.view.agenda.stale = true
		return false
	}
	return true
}

// showBed writes how many wait for a bed.
func (d *display) showBed(ctx context.Context, seen *bedView, now time.Time) {
	if seen == nil || seen.granting != nil {
		return
	}
	bed, queued := seen.bed, int32(d.view.line.queue.Waiting(seen.bed.Name))
	if bed.Status.Queued == queued || !d.due(seen.shown, now, false) {
		return
	}
	d.budget.take(now)
	seen.shown.writing = true
	d.requests.begin(func() written {
		after, err := kit.PatchBed(ctx, d.client, bed, map[string]any{"queued": queued}, "")
		return func(now time.Time) {
			seen.shown = shownAt{time: now}
			if err == nil {
				d.view.applyWritten(after)
			}
		}
	})
}

// showBenchmark writes that a benchmark waits, and for what.
func (d *display) showBenchmark(ctx context.Context, w *waiter, now time.Time, news bool) {
	if w == nil || w.class == nil || w.granting || d.view.inventory.holds(w.b) {
		return
	}
	want := d.explainer.status(w)
	if want.IsShownBy(w.b) {
		left, waits := kit.StallsIn(w.b, d.now())
		if waits && left > 0 {
			d.view.agenda.stallAt(now.Add(left))
		}
		if !waits || left > 0 {
			return
		}
	}
	if w.deferred || !d.due(w.shown, now, news) {
		return
	}
	if d.isPlain(w, want) {
		if !d.budget.hasPlain(now) {
			w.deferred = true
			d.view.agenda.plain = append(d.view.agenda.plain, queueKey(w.b))
			return
		}
		d.budget.takePlain(now)
	} else {
		d.budget.take(now)
	}
	w.shown.writing = true
	key, b := queueKey(w.b), w.b.DeepCopy()
	d.requests.begin(func() written {
		sc := kit.NewScope(b, d.now(), d.timers)
		want.Write(sc)
		err := d.status.Store(ctx, sc, nil)
		if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "The place in the queue could not be stored", "benchmark", key.String())
		}
		return func(now time.Time) {
			if w := d.view.inventory.benchmarks[key]; w != nil && w.b.UID == b.UID {
				w.shown = shownAt{time: now}
				if err == nil {
					d.view.applyBenchmark(key, sc.Benchmark)
				}
			}
		}
	})
}

// isPlain reports whether a first message contains no more than that a benchmark waits.
func (d *display) isPlain(w *waiter, want kit.Explanation) bool {
	return w.b.Status.Phase == "" && want.Accepted && want.Reason == v1alpha1.ReasonQueued && !d.view.teams.entryOf(w.b).Preempts
}

// showPolicy writes how teams stand, at a bounded rate.
func (d *display) showPolicy(ctx context.Context, s queue.Snapshot, now time.Time) {
	shown, policy := &d.policy, d.view.teams.policy
	if policy == nil || shown.writing || now.Sub(shown.time) < d.refresh {
		return
	}
	status := v1alpha1.LabPolicyStatus{ObservedGeneration: policy.Generation, Teams: d.view.shares.standings(s)}
	if equality.Semantic.DeepEqual(status, policy.Status) {
		return
	}
	shown.writing = true
	d.requests.begin(func() written {
		after := kit.Named(&v1alpha1.LabPolicy{}, policy)
		err := d.client.Status().Patch(ctx, after, kit.MergePatch(map[string]any{"status": status}))
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			log.FromContext(ctx).Error(fmt.Errorf("storing the status of LabPolicy %s: %w", policy.Name, err), "The standings of teams could not be stored")
		}
		return func(now time.Time) {
			d.policy = shownAt{time: now}
			if err == nil {
				d.view.applyPolicy(after.Name, after)
			}
		}
	})
}
