package schedules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/schedule"
)

// maxActive is the maximum number of benchmarks that the status of a schedule names.
const maxActive = 64

// firing contains the benchmarks that were made at one time of a schedule, or by hand.
type firing struct {
	name string
	at   time.Time
	// size is the intended number of benchmarks.
	size int
	made []*v1alpha1.Benchmark
}

// firingOf is the time of the firing that made a benchmark.
func firingOf(b *v1alpha1.Benchmark) (time.Time, bool) {
	return schedule.FiringTime(b.Labels[v1alpha1.LabelFiring])
}

// firings returns the firings of benchmarks, the oldest first. Benchmarks without a firing are
// left out.
func firings(made []*v1alpha1.Benchmark) []*firing {
	byName := map[string]*firing{}
	for _, b := range made {
		at, known := firingOf(b)
		if !known {
			continue
		}
		name := b.Labels[v1alpha1.LabelFiring]
		if byName[name] == nil {
			byName[name] = &firing{name: name, at: at}
		}
		f := byName[name]
		f.made = append(f.made, b)
		if size, err := strconv.Atoi(b.Annotations[v1alpha1.AnnotationFiringSize]); err == nil {
			f.size = max(f.size, size)
		}
		f.size = max(f.size, len(f.made))
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *firing) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
}

// finished reports whether all benchmarks are.
func (f *firing) finished() bool {
	return !slices.ContainsFunc(f.made, func(b *v1alpha1.Benchmark) bool { return !b.Status.Phase.Finished() })
}

// run sums a finished firing up.
func (f *firing) run() *v1alpha1.ScheduledRun {
	run := &v1alpha1.ScheduledRun{Name: f.name, Benchmarks: int32(f.size)}
	for _, b := range f.made {
		if b.Status.Phase.Succeeded() {
			run.Passed++
		}
		if ended := kit.EndedAt(b); ended.After(run.CompletionTime.Time) {
			run.CompletionTime = metav1.NewTime(ended)
		}
	}
	return run
}

// others returns the benchmarks that did not succeed.
func (f *firing) others() []*v1alpha1.Benchmark {
	var all []*v1alpha1.Benchmark
	for _, b := range f.made {
		if !b.Status.Phase.Succeeded() {
			all = append(all, b)
		}
	}
	return all
}

// Record writes what was made, and how the latest finished firing ended. A firing of which
// benchmarks are missing is finished when there is a later one: its others may still come.
func (t *Timetable) Record() {
	slices.SortFunc(t.Active, func(a, b *v1alpha1.Benchmark) int { return cmp.Compare(a.Name, b.Name) })
	t.Status.ActiveCount, t.Status.Active = int32(len(t.Active)), nil
	for _, b := range t.Active[:min(len(t.Active), maxActive)] {
		t.Status.Active = append(t.Status.Active, v1alpha1.ActiveBenchmark{Name: b.Name, UID: string(b.UID)})
	}
	all := firings(t.Made)
	var latest *firing
	for i, f := range all {
		if f.at.After(t.recorded()) && f.finished() && (len(f.made) >= f.size || i+1 < len(all)) {
			latest = f
		}
	}
	switch {
	case latest != nil:
		t.recordRun(latest)
	case t.Status.LastRun == nil:
		t.lastRun(metav1.ConditionUnknown, v1alpha1.ReasonNoRun, "no firing is finished yet")
	}
}

// recorded is the firing that status.lastRun is about.
func (t *Timetable) recorded() time.Time {
	if t.Status.LastRun == nil {
		return time.Time{}
	}
	at, _ := schedule.FiringTime(t.Status.LastRun.Name)
	return at
}

func (t *Timetable) recordRun(f *firing) {
	run := f.run()
	t.Status.LastRun = run
	message := fmt.Sprintf("%d of %d benchmarks of the firing %s passed", run.Passed, run.Benchmarks, run.Name)
	if run.Passed == run.Benchmarks {
		t.Status.LastSuccessfulTime = &run.CompletionTime
		t.lastRun(metav1.ConditionTrue, v1alpha1.ReasonRunPassed, message)
		return
	}
	if others := f.others(); len(others) > 0 {
		message += ": " + listed(others)
	} else {
		message += ": the others do not exist"
	}
	t.lastRun(metav1.ConditionFalse, v1alpha1.ReasonRunFailed, message)
	t.event(corev1.EventTypeWarning, v1alpha1.EventRunFailed, "Fire", "%s", message)
}

func (t *Timetable) lastRun(status metav1.ConditionStatus, reason, message string) {
	kit.SetCondition(&t.Status.Conditions, t.Now, t.Generation, metav1.Condition{Type: v1alpha1.ConditionLastRunPassed, Status: status, Reason: reason, Message: message})
}

// trim deletes finished benchmarks beyond the history limits, of each cell the oldest. It
// waits for the archive and the recorder, and until status.lastRun has the firing.
func (r *Reconciler) trim(ctx context.Context, t *Timetable) error {
	type list struct {
		cell   string
		passed bool
	}
	kept := map[list]int32{}
	var errs []error
	for _, f := range slices.Backward(firings(t.Made)) {
		for _, b := range f.made {
			if !b.Status.Phase.Finished() {
				continue
			}
			of := list{b.Labels[v1alpha1.LabelCell], b.Status.Phase.Succeeded()}
			limit := t.Spec.FailedHistoryLimit
			if of.passed {
				limit = t.Spec.SuccessfulHistoryLimit
			}
			if kept[of]++; limit == nil || kept[of] <= *limit || f.at.After(t.recorded()) || r.Awaited(b) || !b.DeletionTimestamp.IsZero() {
				continue
			}
			errs = append(errs, r.deleteOld(ctx, b))
		}
	}
	return errors.Join(errs...)
}

func (r *Reconciler) deleteOld(ctx context.Context, b *v1alpha1.Benchmark) error {
	err := r.Delete(ctx, b, client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting benchmark %s, which is beyond the history limit of its schedule: %w", b.Name, err)
	}
	log.FromContext(ctx).Info("A benchmark beyond the history limit of its schedule was deleted", "benchmark", b.Name)
	return nil
}
