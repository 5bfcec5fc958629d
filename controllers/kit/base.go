package kit

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/lab"
)

// Base has the fields that both controllers use.
type Base struct {
	client.Client
	// Live reads from the API server.
	Live     client.Reader
	Recorder events.EventRecorder
	Timers   *Timers
	Options
}

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

// Settle turns the errors of a reconcile into what the queue needs. A conflict is no
// failure: the next reconcile reads what the other writer wrote.
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
	return ctrl.Result{RequeueAfter: 50 * time.Millisecond}, nil
}

// Ensure creates an object of a run unless it exists, and reads an existing one into it.
func (b *Base) Ensure(ctx context.Context, run lab.Run, obj client.Object) error {
	key := client.ObjectKeyFromObject(obj)
	err := b.Live.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		if err = b.Create(ctx, obj); apierrors.IsAlreadyExists(err) {
			err = b.Live.Get(ctx, key, obj)
		}
	}
	if err != nil {
		return fmt.Errorf("making %s: %w", key, err)
	}
	if owner := obj.GetLabels(); !run.Has(owner) {
		return fmt.Errorf("making %s: it exists and belongs to %q: delete it", key, owner[lab.LabelUID])
	}
	return nil
}
