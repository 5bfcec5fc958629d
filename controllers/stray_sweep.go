package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// straySweep removes objects of runs that have no bed any more. An operator that was
// replaced can have asked for a pod just before, which appears after the next operator
// has cleaned up; no event reports that.
type straySweep struct{ kit.Base }

// NeedLeaderElection is true: only one operator sweeps.
func (s *straySweep) NeedLeaderElection() bool { return true }

// Start sweeps at once and again after each pause, until the context ends. While a run
// is being removed the pause is short, and doubles up to Sweep.
func (s *straySweep) Start(ctx context.Context) error {
	for pause := time.Duration(0); ; {
		left, err := s.sweepAll(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "What is left of runs without a bed was not removed")
		}
		switch {
		case err != nil || !left:
			pause = s.Sweep
		case pause == 0 || pause == s.Sweep:
			pause = s.Poll
		default:
			pause = min(2*pause, s.Sweep)
		}
		if !kit.Sleep(ctx, pause) {
			return nil
		}
	}
}

// sweepAll sweeps after all strays once, and reports whether something is still there.
func (s *straySweep) sweepAll(ctx context.Context) (left bool, _ error) {
	strays, err := s.strays(ctx)
	if err != nil {
		return false, err
	}
	var errs []error
	for run := range strays {
		still, err := s.RunObjects().Remove(ctx, run)
		log.FromContext(ctx).Info("Removed what was left of a run without a bed", "benchmarkUID", run.UID, "attempt", run.Attempt, "left", still.What)
		if still.Final { // The bed is gone that would be quarantined.
			err = s.RunObjects().Forgive(ctx, run, nil)
		}
		errs = append(errs, err)
		left = left || still.What != ""
	}
	return left, errors.Join(errs...)
}

// strays are the runs that have objects in the lab, and neither a bed nor a chance to get
// one. The order matters: a run has its lease before its first object, so that an object
// without a lease, listed earlier, was left behind.
func (s *straySweep) strays(ctx context.Context) (map[labobjects.Run]bool, error) {
	objects, err := s.RunObjects().List(ctx, client.HasLabels{labobjects.LabelUID})
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	runs := map[labobjects.Run]bool{}
	for i := range objects {
		labels := objects[i].Labels
		runs[labobjects.Run{UID: labels[labobjects.LabelUID], Attempt: labobjects.AttemptOf(labels)}] = true
	}
	var beds v1alpha1.TestBedList
	if err := s.Live.List(ctx, &beds); err != nil {
		return nil, fmt.Errorf("listing test beds: %w", err)
	}
	for i := range beds.Items {
		if lease := beds.Items[i].Status.Lease; lease != nil {
			delete(runs, kit.RunOf(lease))
		}
	}
	if len(runs) == 0 {
		return nil, nil
	}
	// A benchmark that waits may get a bed at any time; an attempt that has ended, or whose bed
	// was taken back, does not.
	var benchmarks v1alpha1.BenchmarkList
	if err := s.List(ctx, &benchmarks); err != nil {
		return nil, fmt.Errorf("listing benchmarks: %w", err)
	}
	now := map[string]int32{}
	for i := range benchmarks.Items {
		if b := &benchmarks.Items[i]; !b.Status.Phase.Finished() && b.Status.TestBedName == "" {
			now[string(b.UID)] = labobjects.RunOf(b).Attempt
		}
	}
	maps.DeleteFunc(runs, func(run labobjects.Run, _ bool) bool {
		attempt, known := now[run.UID]
		return known && run.Attempt >= attempt
	})
	return runs, nil
}
