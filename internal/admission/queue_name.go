package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// queuePath is the path of the label that names a queue of Kueue.
var queuePath = field.NewPath("metadata", "labels").Key(v1alpha1.LabelQueueName)

// queueProblems refuses a benchmark that names no queue of Kueue in a namespace where all have to.
func (v *Benchmarks) queueProblems(ctx context.Context, b *v1alpha1.Benchmark) (field.ErrorList, error) {
	if !v.Kueue || v.KueueRequired == nil || b.Labels[v1alpha1.LabelQueueName] != "" {
		return nil, nil
	}
	// The cache may still contain a removed label, so that the API server is asked.
	ns := &corev1.Namespace{}
	if err := v.Live.Get(ctx, client.ObjectKey{Name: b.Namespace}, ns); err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", b.Namespace, err)
	}
	if !v.KueueRequired.Matches(labels.Set(ns.Labels)) {
		return nil, nil
	}
	return field.ErrorList{field.Required(queuePath, fmt.Sprintf(
		"benchmarks of namespace %s are admitted by Kueue: name a LocalQueue of the namespace (kubectl get localqueues -n %s)", b.Namespace, b.Namespace))}, nil
}

// queueChange refuses another name of the queue while Kueue counts the benchmark.
func (v *Benchmarks) queueChange(before, after *v1alpha1.Benchmark) error {
	was, is := before.Labels[v1alpha1.LabelQueueName], after.Labels[v1alpha1.LabelQueueName]
	if !v.Kueue || was == is || after.Status.Phase.Finished() || !after.DeletionTimestamp.IsZero() {
		return nil
	}
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Benchmark").GroupKind(), after.Name, field.ErrorList{field.Forbidden(queuePath, fmt.Sprintf(
		"the queue of a benchmark cannot be changed from %q to %q before it has ended: abort it, and apply it again under another name", was, is))})
}
