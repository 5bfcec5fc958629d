package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/preflight"
)

// Benchmarks judges benchmarks at their creation.
type Benchmarks struct {
	// Reader reads from the API server, not from a cache: profile, bed and
	// benchmark are often applied within one second.
	Reader client.Reader
	// DefaultPolicy is that of the lab, for beds that give none; it may be nil.
	DefaultPolicy *v1alpha1.TrafficPolicy
}

var _ admission.Validator[*v1alpha1.Benchmark] = (*Benchmarks)(nil)

// ValidateCreate refuses a benchmark that can run on no bed.
func (v *Benchmarks) ValidateCreate(ctx context.Context, b *v1alpha1.Benchmark) (admission.Warnings, error) {
	in := preflight.Input{Benchmark: b, Namespace: &corev1.Namespace{}, DefaultPolicy: v.DefaultPolicy}
	if err := v.Reader.Get(ctx, client.ObjectKey{Name: b.Namespace}, in.Namespace); err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", b.Namespace, err)
	}
	var profiles v1alpha1.TrafficProfileList
	if err := v.Reader.List(ctx, &profiles, client.InNamespace(b.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the traffic profiles of namespace %s: %w", b.Namespace, err)
	}
	var beds v1alpha1.TestBedList
	if err := v.Reader.List(ctx, &beds); err != nil {
		return nil, fmt.Errorf("listing test beds: %w", err)
	}
	in.Profiles, in.Beds = profiles.Items, beds.Items
	if answer := preflight.Benchmark(in); len(answer.Problems) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Benchmark").GroupKind(), b.Name, answer.Problems)
	}
	return nil, nil
}

// ValidateUpdate lets everything pass: the schema keeps the spec from changing.
func (v *Benchmarks) ValidateUpdate(context.Context, *v1alpha1.Benchmark, *v1alpha1.Benchmark) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete lets everything pass.
func (v *Benchmarks) ValidateDelete(context.Context, *v1alpha1.Benchmark) (admission.Warnings, error) {
	return nil, nil
}
