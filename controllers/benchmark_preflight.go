package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/preflight"
)

// preflight judges the benchmark anew until it has a bed: admission did so once,
// and everything but the benchmark may have changed since.
func (r *benchmarkReconciler) preflight(ctx context.Context, s *scope) (step, error) {
	if s.Status.TestBedName != "" {
		return proceed(), nil
	}
	if s.Status.Phase == "" {
		s.Status.Phase = v1alpha1.PhasePending
	}
	var beds v1alpha1.TestBedList
	if err := r.live.List(ctx, &beds); err != nil {
		return step{}, fmt.Errorf("listing test beds: %w", err)
	}
	s.beds = beds.Items
	answer, err := judge(ctx, r.live, s.Benchmark, s.beds)
	if err != nil {
		return step{}, err
	}
	if len(answer.Problems) > 0 {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted, answer.Problems.ToAggregate().Error()), nil
	}
	s.usable = bedNames(answer.Beds)
	s.set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "profile, bed and tests fit together")
	return proceed(), nil
}

// judge collects what a benchmark is judged by, and judges it.
func judge(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark, beds []v1alpha1.TestBed) (preflight.Answer, error) {
	in := preflight.Input{Benchmark: b, Namespace: &corev1.Namespace{}, Beds: beds}
	if err := reader.Get(ctx, client.ObjectKey{Name: b.Namespace}, in.Namespace); err != nil {
		return preflight.Answer{}, fmt.Errorf("reading namespace %s: %w", b.Namespace, err)
	}
	var profiles v1alpha1.TrafficProfileList
	if err := reader.List(ctx, &profiles, client.InNamespace(b.Namespace)); err != nil {
		return preflight.Answer{}, fmt.Errorf("listing traffic profiles of namespace %s: %w", b.Namespace, err)
	}
	in.Profiles = profiles.Items
	return preflight.Benchmark(in), nil
}

func bedNames(beds []v1alpha1.TestBed) []string {
	var names []string
	for _, b := range beds {
		names = append(names, b.Name)
	}
	return names
}
