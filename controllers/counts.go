package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/calibration"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/opmetrics"
)

var _ opmetrics.StateReader = (*allocator)(nil)

// count counts a benchmark whose phase has changed, once that is stored.
func (r *base) count(s *scope) {
	before, after := s.before.Status.Phase, s.Status.Phase
	if waits(s.Benchmark) {
		return // In the queue there are too many to follow; the lease ends that phase.
	}
	since := r.timers.enter(s.Benchmark, s.now)
	switch {
	case after == v1alpha1.PhasePreparing && before != v1alpha1.PhaseRunning:
		r.Counts.Phase(string(v1alpha1.PhaseQueued), s.waited())
	case !since.IsZero():
		r.Counts.Phase(string(before), s.now.Sub(since))
	}
	if !after.Finished() {
		return
	}
	r.Counts.Finished(string(after))
	if s.Status.TestBedName != "" {
		r.Counts.CleanedUp(s.isTrue(v1alpha1.ConditionCleanedUp))
	}
}

// waited returns the time for which a benchmark that has a bed waited for it, since its
// creation or its last preemption.
func (s *scope) waited() time.Duration {
	runs := s.Status.EarlierRuns
	if len(runs) == 0 || s.Status.LeaseTime == nil {
		return s.Status.StartTime.Sub(s.CreationTimestamp.Time)
	}
	return s.Status.LeaseTime.Sub(runs[len(runs)-1].Until.Time)
}

// countBed counts what ended in a bed whose benchmark is gone, once that is stored.
func (r *testBedReconciler) countBed(before, after *v1alpha1.TestBed) {
	switch {
	case !isQuarantined(before) && isQuarantined(after):
		r.Counts.CleanedUp(false)
		r.Counts.Quarantined(after.Name)
	case before.Status.Lease != nil && after.Status.Lease == nil:
		r.Counts.CleanedUp(true)
	}
}

// State is the state of the lab for Prometheus.
func (a *allocator) State(ctx context.Context) (opmetrics.State, error) {
	state, err := ask(ctx, a, (*allocator).look)
	if err != nil {
		return state, err
	}
	state.Archive, err = a.unarchived(ctx)
	return state, err
}

// look returns the allocator's view of beds and queue.
func (a *allocator) look() opmetrics.State {
	var state opmetrics.State
	ofBeds, ofTeams := a.queue.Lines()
	for _, name := range slices.Sorted(maps.Keys(a.beds)) {
		bed := a.beds[name].bed
		line := ofBeds[name]
		view := opmetrics.Bed{
			Name: name, Ready: isTrue(bed.Status.Conditions, v1alpha1.ConditionReady), Unschedulable: bed.Spec.Unschedulable,
			Quarantined: isQuarantined(bed), Waiting: line.Length, Oldest: line.Oldest,
		}
		if bed.Status.Lease != nil {
			view.Leased = bed.Status.Lease.AcquireTime.Time
		}
		view.Calibrated, view.CalibrationEnds = a.calibrated(bed)
		state.Beds = append(state.Beds, view)
	}
	teams := map[string]*opmetrics.Team{}
	for name, line := range ofTeams {
		teams[name] = &opmetrics.Team{Name: name, Waiting: line.Length, Oldest: line.Oldest}
	}
	for _, c := range a.classes {
		if len(c.beds) > 0 {
			continue
		}
		if teams[c.key.namespace] == nil {
			teams[c.key.namespace] = &opmetrics.Team{Name: c.key.namespace}
		}
		teams[c.key.namespace].Pending += len(c.members)
	}
	for _, name := range slices.Sorted(maps.Keys(teams)) {
		state.Teams = append(state.Teams, *teams[name])
	}
	return state
}

// calibrated returns the time of the calibration of the tester on the bed that a bed refers
// to, and the time at which that becomes too old; zero without a calibration.
func (a *allocator) calibrated(bed *v1alpha1.TestBed) (at, ends time.Time) {
	ref := bed.Spec.Calibration
	if ref == nil {
		return at, ends
	}
	by := a.beds[ref.TestBedName]
	if by == nil || by.bed.Status.Calibration == nil || !device.Of(by.bed.Spec.Device).Absent {
		return at, ends
	}
	age := calibration.DefaultMaxAge
	if ref.MaxAge != nil {
		age = ref.MaxAge.Duration
	}
	at = by.bed.Status.Calibration.Time.Time
	return at, at.Add(age)
}

// unarchived are the finished benchmarks that wait for the archive; nil without one.
func (b *base) unarchived(ctx context.Context) (*opmetrics.Archive, error) {
	if b.Archive == nil {
		return nil, nil
	}
	var all v1alpha1.BenchmarkList
	if err := b.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing benchmarks: %w", err)
	}
	waiting := &opmetrics.Archive{}
	for i := range all.Items {
		s := &all.Items[i].Status
		if !s.Phase.Finished() || isArchived(&all.Items[i]) {
			continue
		}
		waiting.Waiting++
		if ended := s.CompletionTime; ended != nil && (waiting.Oldest.IsZero() || ended.Before(&metav1.Time{Time: waiting.Oldest})) {
			waiting.Oldest = ended.Time
		}
	}
	return waiting, nil
}
