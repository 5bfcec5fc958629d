package controllers

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

// base has the fields that both controllers use.
type base struct {
	client.Client
	// live reads from the API server.
	live     client.Reader
	recorder events.EventRecorder
	timers   *timers
	Options
}

// step defines how a reconcile continues after a phase.
type step struct {
	stop  bool
	after time.Duration
}

// proceed continues with the next phase.
func proceed() step { return step{} }

// again ends this reconcile and begins another one after a while.
func again(after time.Duration) step { return step{stop: true, after: after} }

// rest ends this reconcile; an event begins the next one.
func rest() step { return step{stop: true} }

// soon is practically at once, without starving others.
const soon = time.Millisecond

func (s step) result() ctrl.Result { return ctrl.Result{RequeueAfter: s.after} }

// settle turns the errors of a reconcile into what the queue needs. A conflict is no
// failure: the next reconcile reads what the other writer wrote.
func settle(result ctrl.Result, errs ...error) (ctrl.Result, error) {
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

// ensure creates an object of a run unless it exists, and reads an existing one into it.
func (b *base) ensure(ctx context.Context, run lab.Run, obj client.Object) error {
	key := client.ObjectKeyFromObject(obj)
	err := b.live.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		if err = b.Create(ctx, obj); apierrors.IsAlreadyExists(err) {
			err = b.live.Get(ctx, key, obj)
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
