package admission

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// counted counts the decisions of a validator, and how long they took.
type counted[T runtime.Object] struct {
	admission.Validator[T]
	kind   string
	counts *opmetrics.Operator
}

func (v counted[T]) ValidateCreate(ctx context.Context, o T) (admission.Warnings, error) {
	began := time.Now()
	warnings, err := v.Validator.ValidateCreate(ctx, o)
	v.count(began, err)
	return warnings, err
}

func (v counted[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	began := time.Now()
	warnings, err := v.Validator.ValidateUpdate(ctx, before, after)
	v.count(began, err)
	return warnings, err
}

func (v counted[T]) count(began time.Time, err error) {
	decision := opmetrics.Failed
	switch {
	case err == nil:
		decision = opmetrics.Allowed
	case apierrors.IsInvalid(err):
		decision = opmetrics.Refused
	}
	v.counts.Judged(v.kind, decision, time.Since(began))
}
