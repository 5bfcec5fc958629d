package admission

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
)

// Receivers checks URLs of notifications against those that the lab allows.
type Receivers interface {
	// Allows returns the reason why a URL may not be sent to; nil if it may.
	Allows(url string) error
}

// Sinks judges notification sinks. A host that the lab does not allow is a warning: its owner
// may allow it later, and the condition Ready of the sink says so until then.
type Sinks struct {
	// Receivers is nil where the lab allows none.
	Receivers Receivers
}

var _ admission.Validator[*v1alpha1.NotificationSink] = (*Sinks)(nil)

// ValidateCreate refuses a sink that can never work.
func (v *Sinks) ValidateCreate(_ context.Context, s *v1alpha1.NotificationSink) (admission.Warnings, error) {
	if problems := selection.Problems(field.NewPath("spec", "benchmarkSelector"), s.Spec.BenchmarkSelector); len(problems) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("NotificationSink").GroupKind(), s.Name, problems)
	}
	if v.Receivers == nil {
		return admission.Warnings{"the lab allows notifications to no host yet: ask its owner to add that of spec.url to notifications.allowedHosts of the chart"}, nil
	}
	if err := v.Receivers.Allows(s.Spec.URL); err != nil {
		return admission.Warnings{fmt.Sprintf("spec.url: %v", err)}, nil
	}
	return nil, nil
}

// ValidateUpdate judges as at the creation.
func (v *Sinks) ValidateUpdate(ctx context.Context, _, s *v1alpha1.NotificationSink) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, s)
}

// ValidateDelete lets everything pass.
func (v *Sinks) ValidateDelete(context.Context, *v1alpha1.NotificationSink) (admission.Warnings, error) {
	return nil, nil
}
