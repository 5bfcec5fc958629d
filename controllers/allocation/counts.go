package allocation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

var _ opmetrics.StateReader = (*Allocator)(nil)

// State is the state of the lab for Prometheus.
func (a *Allocator) State(ctx context.Context) (opmetrics.State, error) {
	state, err := ask(ctx, a.inbox, a.view.look)
	if err != nil {
		return state, err
	}
	state.Archive, err = unarchived(ctx, &a.base)
	return state, err
}

// takeBeds returns the current state of the beds, and their use since the previous call.
func (a *Allocator) takeBeds() []metrics.Bed { return a.meter.take(a.view.look().Beds) }

// look returns the state of beds and queue as the view has it.
func (v *view) look() opmetrics.State {
	var state opmetrics.State
	ofBeds, ofTeams := v.line.queue.Lines()
	for _, name := range slices.Sorted(maps.Keys(v.inventory.beds)) {
		bed := v.inventory.beds[name].bed
		line := ofBeds[name]
		seen := opmetrics.Bed{
			Name: name, Ready: kit.IsTrue(bed.Status.Conditions, v1alpha1.ConditionReady), Unschedulable: bed.Spec.Unschedulable,
			Quarantined: kit.IsQuarantined(bed), Waiting: line.Length, Oldest: line.Oldest,
		}
		if bed.Status.Lease != nil {
			seen.Leased = bed.Status.Lease.AcquireTime.Time
		}
		seen.Calibrated, seen.CalibrationEnds = v.inventory.calibrated(bed)
		state.Beds = append(state.Beds, seen)
	}
	teams := map[string]*opmetrics.Team{}
	for name, line := range ofTeams {
		teams[name] = &opmetrics.Team{Name: name, Waiting: line.Length, Oldest: line.Oldest}
	}
	for _, c := range v.judge.classes {
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
func (inv *inventory) calibrated(bed *v1alpha1.TestBed) (at, ends time.Time) {
	ref := bed.Spec.Calibration
	if ref == nil {
		return at, ends
	}
	return calibration.Term(ref, inv.bed(ref.TestBedName))
}

// unarchived are the finished benchmarks that wait for the archive; nil without one.
func unarchived(ctx context.Context, b *kit.Base) (*opmetrics.Archive, error) {
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
		if !s.Phase.Finished() || kit.IsArchived(&all.Items[i]) {
			continue
		}
		waiting.Waiting++
		if ended := s.CompletionTime; ended != nil && (waiting.Oldest.IsZero() || ended.Before(&metav1.Time{Time: waiting.Oldest})) {
			waiting.Oldest = ended.Time
		}
	}
	return waiting, nil
}
