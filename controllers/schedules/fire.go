package schedules

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/schedule"
)

// fire makes the benchmarks of the firing in hand that are not there yet. It is done once
// all are; it can be ended and begun again at any point, also by another operator, as the
// names follow from the firing.
func (r *Reconciler) fire(ctx context.Context, t *Timetable) error {
	at := t.Status.Firing.ScheduleTime.Time
	name := schedule.FiringName(at)
	if err := r.replace(ctx, t); err != nil {
		return err
	}
	all := schedule.Benchmarks(t.BenchmarkSchedule, name)
	var refused []string
	made, waits := t.madeBy(name), false
	for _, b := range all {
		if made[b.Name] {
			continue
		}
		if waits = !r.pace.allow(b.Namespace, t.Now); waits {
			break
		}
		err := r.make(ctx, b)
		switch {
		case apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err):
			refused = append(refused, err.Error())
		case err != nil:
			return fmt.Errorf("making benchmark %s of the schedule: %w", b.Name, err)
		}
	}
	if len(refused) > 0 {
		message := fmt.Sprintf("of the firing at %s, %d of %d benchmarks were refused: %s", kit.Stamp(at), len(refused), len(all), refused[0])
		if kit.ReasonOf(t.Status.Conditions, v1alpha1.ConditionReady) != v1alpha1.ReasonFiringRefused {
			t.event(corev1.EventTypeWarning, v1alpha1.EventFiringRefused, "Fire", "%s", message)
		}
		t.Ready(metav1.ConditionFalse, v1alpha1.ReasonFiringRefused, message)
		t.wakeAt(t.Now.Add(r.Recheck))
		return nil
	}
	if waits {
		t.Ready(metav1.ConditionTrue, v1alpha1.ReasonFiring, fmt.Sprintf(
			"the firing at %s goes on: all schedules of the namespace together make %d benchmarks at once, and then %d per second", kit.Stamp(at), firingsAtOnce, firingsPerSecond))
		t.wakeAt(t.Now.Add(firingPause))
		return nil
	}
	t.Status.Firing = nil
	t.Ready(metav1.ConditionTrue, v1alpha1.ReasonScheduled, scheduled)
	t.event(corev1.EventTypeNormal, v1alpha1.EventFired, "Fire", "the firing at %s made %s", kit.Stamp(at), listed(all))
	log.FromContext(ctx).Info("The schedule fired", "firing", kit.Stamp(at), "benchmarks", len(all))
	return nil
}

// madeBy returns the names of benchmarks that the schedule is known to have made in a firing.
func (t *Timetable) madeBy(firing string) map[string]bool {
	names := map[string]bool{}
	for _, b := range t.Made {
		if b.Labels[v1alpha1.LabelFiring] == firing {
			names[b.Name] = true
		}
	}
	return names
}

// make creates a benchmark, unless this firing has made it before.
func (r *Reconciler) make(ctx context.Context, b *v1alpha1.Benchmark) error {
	wanted := b.DeepCopy()
	err := r.Create(ctx, b)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there := &v1alpha1.Benchmark{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(b), there); err != nil {
		return fmt.Errorf("reading benchmark %s: %w", b.Name, err)
	}
	for _, label := range []string{v1alpha1.LabelSchedule, v1alpha1.LabelFiring} {
		if there.Labels[label] != wanted.Labels[label] {
			return fmt.Errorf("a benchmark of that name is not of this schedule, by its label %s: rename one of the two: %w", label, err)
		}
	}
	return nil
}

// replace aborts earlier benchmarks, where the schedule says so. Finished rows are kept.
func (r *Reconciler) replace(ctx context.Context, t *Timetable) error {
	if t.Spec.ConcurrencyPolicy != v1alpha1.ConcurrencyReplace {
		return nil
	}
	var aborted []*v1alpha1.Benchmark
	for _, b := range t.Active {
		if at, known := firingOf(b); b.Spec.Abort || known && !at.Before(t.Status.Firing.ScheduleTime.Time) {
			continue
		}
		before := b.DeepCopy()
		after := b.DeepCopy()
		after.Spec.Abort = true
		if err := r.Patch(ctx, after, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("aborting benchmark %s of the schedule: %w", b.Name, err)
		}
		aborted = append(aborted, b)
	}
	if len(aborted) > 0 {
		t.event(corev1.EventTypeNormal, v1alpha1.EventReplaced, "Fire", "aborted to make room, by concurrencyPolicy Replace: %s", listed(aborted))
	}
	return nil
}
