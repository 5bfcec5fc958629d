package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/results"
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
	// repeatable reports whether the decision how a benchmark ends is the same if it is made again
	// after the clean-up.
	repeatable bool
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

// recall continues the end that an operator has stored with the result, and not in the status: it
// has removed what decided the outcome. Rows that were stored, and not counted in the status, are counted.
func (e *ending) recall(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Ending() || s.Status.Phase != v1alpha1.PhaseRunning {
		return kit.Proceed(), nil
	}
	l, err := e.ledgers.open(ctx, s)
	if errors.Is(err, results.ErrMissing) {
		return kit.Proceed(), nil // Who needs the rows fails; spec.abort ends the benchmark.
	}
	if err != nil {
		return kit.Step{}, err
	}
	if rows := int32(len(l.Rows())); rows > rowsStored(s) {
		e.ledgers.summarize(s, l)
	}
	if end := l.Ending(s.Status.Attempt); end != nil {
		return s.End(end.Outcome, end.Condition, end.Reason, end.Message), nil
	}
	return kit.Proceed(), nil
}

// begin begins the clean-up as soon as the outcome is safe. With the part of the result that is
// completed last it costs no write of its own. Without such a part it is stored in the status first.
func (e *ending) begin(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	safe, err := e.repeatable, error(nil)
	if !safe && s.Before.Status.Phase == v1alpha1.PhaseRunning {
		safe, err = e.storeEnding(ctx, s)
	}
	if apierrors.IsConflict(err) {
		s.Status = *s.Before.Status.DeepCopy() // Another operator may have stored another end.
		return kit.Step{}, err
	}
	if err != nil {
		log.FromContext(ctx).Info("The end is stored in the status only", "benchmark", keyOf(s.Benchmark), "reason", err.Error())
	}
	if !safe || err != nil {
		return kit.Again(kit.Soon), nil
	}
	return e.cleanUp(ctx, s)
}

// storeEnding completes the result together with the end, and reports whether there was a part to
// complete, or the end is stored already.
func (e *ending) storeEnding(ctx context.Context, s *kit.Scope) (bool, error) {
	e.poller.forget(keyOf(s.Benchmark))
	for range 2 { // What is remembered without an open part may be outdated.
		l, err := e.ledgers.open(ctx, s)
		if err != nil {
			return false, err
		}
		is := l.Ending(s.Status.Attempt)
		if is != nil && *is != s.Ended {
			return false, apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("benchmarkresults").GroupResource(), s.Name, errEnded)
		}
		has := is != nil
		if !has {
			has, err = l.End(s.Ended)
		}
		if has && err == nil {
			err = e.ledgers.store(ctx, s, l)
			// An API server with an older definition drops what it does not know.
			return l.Ending(s.Status.Attempt) != nil, err
		}
		e.ledgers.forget(keyOf(s.Benchmark))
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// errEnded means that another end is stored.
var errEnded = errors.New("another operator has ended the measurement")

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
