package kit

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Base has the fields that every reconciler uses.
type Base struct {
	client.Client
	// Live reads from the API server.
	Live     client.Reader
	Recorder events.EventRecorder
	Timers   *Timers
	// InProgress are the benchmarks that are being reconciled.
	InProgress *InProgress
	Options
}

// RunObjects returns what makes, lists and removes the objects of runs in the lab.
func (b *Base) RunObjects() RunObjects {
	return RunObjects{Client: b.Client, Live: b.Live, Lab: b.Lab, Bench: b.Bench}
}

// StatusWriter returns what stores the status of benchmarks.
func (b *Base) StatusWriter() StatusWriter {
	return StatusWriter{Client: b.Client, Live: b.Live, Recorder: b.Recorder, Counts: b.Counts}
}

// LabFiles returns what reads the ConfigMaps and Secrets of the owner of the lab.
func (b *Base) LabFiles() LabFiles { return LabFiles{Live: b.Live, Namespace: b.Lab.Namespace} }

// Step defines how a reconcile continues after a phase.
type Step struct {
	Stop  bool
	After time.Duration
}

// Proceed continues with the next phase.
func Proceed() Step { return Step{} }

// Again ends this reconcile and begins another one after a while.
func Again(after time.Duration) Step { return Step{Stop: true, After: after} }

// Rest ends this reconcile; an event begins the next one.
func Rest() Step { return Step{Stop: true} }

// Soon is practically at once, without starving others.
const Soon = time.Millisecond

// Result returns the result of the reconcile.
func (s Step) Result() ctrl.Result { return ctrl.Result{RequeueAfter: s.After} }

// Settle turns the errors of a reconcile into what the queue needs. After a conflict the next
// reconcile reads what the other writer wrote. Conflicts are not reported, and are repeated after
// growing pauses like other failures, since others can cause them without end.
func Settle(result ctrl.Result, errs ...error) (ctrl.Result, error) {
	err := errors.Join(errs...)
	if err == nil {
		return result, nil
	}
	for _, e := range errs {
		if e != nil && !apierrors.IsConflict(e) {
			return ctrl.Result{}, err
		}
	}
	// An error would be logged, and RequeueAfter has no growing pauses.
	return ctrl.Result{Requeue: true}, nil
}
