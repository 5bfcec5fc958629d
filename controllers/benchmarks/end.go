package benchmarks

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// ending ends benchmarks: it completes the result, removes everything from the lab, releases the
// bed and judges the gates.
type ending struct {
	client client.Client
	// live reads from the API server.
	live     client.Reader
	recorder events.EventRecorder
	// counts counts what happens, for Prometheus; nil counts nothing.
	counts  *opmetrics.Operator
	objects kit.RunObjects
	poller  *Poller
	intake  *intake
	ledgers *ledgers
	leases  *leases
	gates   *gateJudge
	// deadline is the time that the clean-up may take before the bed is quarantined.
	deadline time.Duration
	// poll is the pause between two checks.
	poll time.Duration
}

// notice ends a benchmark that was deleted or aborted, or that has had its bed for
// too long. What was measured until now is fetched first.
func (e *ending) notice(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Ending() {
		return kit.Proceed(), nil
	}
	reason, message := endReason(s)
	if reason == "" {
		return kit.Proceed(), nil
	}
	if s.Status.Phase == v1alpha1.PhaseRunning {
		waits, err := e.intake.lastPoll(ctx, s)
		if waits {
			return kit.Again(e.poll), nil
		}
		if err != nil {
			log.FromContext(ctx).Info("The runner did not answer before the end; rows known so far are kept", "reason", err.Error())
		}
	}
	outcome := v1alpha1.PhaseAborted
	if reason == v1alpha1.ReasonDeadlineExceeded {
		outcome = v1alpha1.PhaseInvalid // The benchmark set the limit: the lab did not fail.
	}
	return s.End(outcome, v1alpha1.ConditionMeasured, reason, fmt.Sprintf("%s; %s", message, rowsKept(s))), nil
}

// closeResult makes every part of the result complete once the outcome is decided,
// before anything else of the end. A result that cannot be stored does not keep the
// bed from being cleaned up.
func (e *ending) closeResult(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if !s.Ending() {
		return kit.Proceed(), nil
	}
	e.poller.forget(keyOf(s.Benchmark))
	if s.Status.Results == nil && s.Status.StartTime == nil || s.Status.Results != nil && s.Status.Results.Digest != "" {
		return kit.Proceed(), nil
	}
	l, err := e.ledgers.open(ctx, s)
	if err == nil {
		err = l.Close()
	}
	if err == nil {
		err = e.ledgers.store(ctx, s, l)
	}
	if refusedForGood(err) {
		log.FromContext(ctx).Error(err, "The result stays incomplete", "benchmark", keyOf(s.Benchmark))
		return kit.Proceed(), nil
	}
	return kit.Proceed(), err
}

// endReason returns the reason why the benchmark has to end now, or "" if it may continue.
func endReason(s *kit.Scope) (reason, message string) {
	limit := time.Duration(s.Spec.ActiveDeadlineSeconds) * time.Second
	switch {
	case !s.DeletionTimestamp.IsZero():
		return v1alpha1.ReasonAborted, "the benchmark was deleted"
	case s.Spec.Abort:
		return v1alpha1.ReasonAborted, "spec.abort was set"
	case s.Status.StartTime != nil && s.Status.Preemption == nil && limit > 0 && s.Timers.Active(s.Benchmark, s.Now) >= limit:
		return v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf(
			"the benchmark had its bed for the whole of spec.activeDeadlineSeconds, %d, and was not over: raise it, or ask for less", s.Spec.ActiveDeadlineSeconds)
	}
	return "", ""
}

func rowsKept(s *kit.Scope) string {
	switch n := rowsStored(s); n {
	case 0:
		return "no row was finished"
	case 1:
		return "1 finished row is kept"
	default:
		return fmt.Sprintf("%d finished rows are kept", n)
	}
}

// rowsStored returns the number of stored rows.
func rowsStored(s *kit.Scope) int32 {
	if s.Status.Results == nil {
		return 0
	}
	return s.Status.Results.Rows
}
