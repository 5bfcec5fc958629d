package quotas

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/manifests/team"
	"nodrop.dev/nodrop/internal/manifests/team/labpolicy"
)

// Conditions and reasons of a Workload of Kueue, of version v1beta2 of its API.
const (
	workloadQuotaReserved = "QuotaReserved"
	workloadAdmitted      = "Admitted"
	workloadEvicted       = "Evicted"
	workloadPodsReady     = "PodsReady"
	workloadRequeued      = "Requeued"
	workloadFinished      = "Finished"

	evictedByPreemption = "Preempted"
)

// priorityWithBed is the priority of the Workload of a benchmark that has a bed: the highest
// that a PriorityClass of users can have. Kueue then prefers others when it preempts, which
// give their quota back at once.
const priorityWithBed = 1_000_000_000

// labelBed is the label by which a flavor of Kueue can stand for one bed.
const labelBed = "nodrop.dev/testbed"

// NewWorkload returns an empty Workload of Kueue, without a Go type: the types are in the module of
// Kueue.
func NewWorkload() *unstructured.Unstructured {
	w := &unstructured.Unstructured{}
	w.SetGroupVersionKind(schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"})
	return w
}

// workloadOf returns the Workload of a benchmark, and creates it if it does not exist.
func (r *Reconciler) workloadOf(ctx context.Context, b *v1alpha1.Benchmark) (*unstructured.Unstructured, error) {
	w, err := r.findWorkload(ctx, b)
	if err != nil || w != nil {
		return w, err
	}
	priority, err := r.priorityOf(ctx, b)
	if err != nil {
		return nil, err
	}
	w = workloadFor(b, priority)
	if err := r.Create(ctx, w); err != nil {
		return nil, fmt.Errorf("creating workload %s: %w", w.GetName(), err)
	}
	return w, nil
}

// findWorkload reads the Workload of a benchmark from the API server; nil if it does not
// exist.
func (r *Reconciler) findWorkload(ctx context.Context, b *v1alpha1.Benchmark) (*unstructured.Unstructured, error) {
	w := NewWorkload()
	key := client.ObjectKey{Namespace: b.Namespace, Name: workloadName(b)}
	err := r.Live.Get(ctx, key, w)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading workload %s: %w", key.Name, err)
	}
	if !metav1.IsControlledBy(w, b) {
		return nil, fmt.Errorf("workload %s/%s exists and is not of benchmark %s with UID %s: delete it", key.Namespace, key.Name, b.Name, b.UID)
	}
	return w, nil
}

// workloadName returns the name of the Workload of a benchmark. It differs for each UID, so
// that it does not conflict with the Workload of a deleted benchmark.
func workloadName(b *v1alpha1.Benchmark) string {
	const most = 200 // of 253
	uid := string(b.UID)
	return "benchmark-" + b.Name[:min(len(b.Name), most)] + "-" + uid[:min(len(uid), 8)]
}

// workloadFor is the Workload with which a benchmark asks Kueue for one bed. Kueue counts it by
// its one pod, which is never made. The node selector lets a flavor stand for a bed, or for the
// beds with a label.
func workloadFor(b *v1alpha1.Benchmark, priority int64) *unstructured.Unstructured {
	w := NewWorkload()
	w.SetNamespace(b.Namespace)
	w.SetName(workloadName(b))
	w.SetLabels(map[string]string{labobjects.LabelUID: string(b.UID), "kueue.x-k8s.io/job-uid": string(b.UID)})
	w.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Benchmark", Name: b.Name, UID: b.UID, Controller: new(true),
	}})
	pod := map[string]any{
		"restartPolicy": "Never",
		"containers": []any{map[string]any{
			"name": "bed", "image": "none",
			"resources": map[string]any{"requests": map[string]any{v1alpha1.ResourceBed: "1"}, "limits": map[string]any{v1alpha1.ResourceBed: "1"}},
		}},
	}
	selector := map[string]any{}
	if b.Spec.TestBedName != "" {
		selector[labelBed] = b.Spec.TestBedName
	} else if b.Spec.TestBedSelector != nil {
		for key, value := range b.Spec.TestBedSelector.MatchLabels {
			selector[key] = value
		}
	}
	if len(selector) > 0 {
		pod["nodeSelector"] = selector
	}
	w.Object["spec"] = map[string]any{
		"queueName": kit.QueueNameOf(b),
		"priority":  priority,
		"podSets":   []any{map[string]any{"name": "bed", "count": int64(1), "template": map[string]any{"spec": pod}}},
	}
	return w
}

// priorityOf is the priority of a benchmark in the lab: its own, or that of its class.
func (r *Reconciler) priorityOf(ctx context.Context, b *v1alpha1.Benchmark) (int64, error) {
	policy, err := labpolicy.Read(ctx, r)
	if err != nil {
		return 0, err //nolint:wrapcheck // It says what was read.
	}
	priority, _ := team.Priority(policy, b)
	return int64(priority), nil
}

// rank sets the priority of a Workload to that of its benchmark, or to the one of those with a
// bed.
func (r *Reconciler) rank(ctx context.Context, b *v1alpha1.Benchmark, w *unstructured.Unstructured, hasBed bool) error {
	want := int64(priorityWithBed)
	if !hasBed {
		var err error
		if want, err = r.priorityOf(ctx, b); err != nil {
			return err
		}
	}
	if is, _, _ := unstructured.NestedInt64(w.Object, "spec", "priority"); is == want {
		return nil
	}
	if err := r.Patch(ctx, w, kit.MergePatch(map[string]any{"spec": map[string]any{"priority": want}})); err != nil {
		return fmt.Errorf("setting the priority of workload %s: %w", w.GetName(), err)
	}
	return nil
}

// conditionsOf are the conditions of a Workload.
func conditionsOf(w *unstructured.Unstructured) []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(w.Object, "status", "conditions")
	var all []metav1.Condition
	for _, item := range list {
		var c metav1.Condition
		if fields, ok := item.(map[string]any); ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			all = append(all, c)
		}
	}
	return all
}

// returnQuota marks the Workload of a finished benchmark as finished, so that Kueue frees its
// quota.
func (r *Reconciler) returnQuota(ctx context.Context, b *v1alpha1.Benchmark) error {
	if !r.Kueue || kit.QueueNameOf(b) == "" {
		return nil
	}
	w, err := r.findWorkload(ctx, b)
	if err != nil || w == nil || kit.IsTrue(conditionsOf(w), workloadFinished) {
		return err
	}
	reason := "Failed"
	if b.Status.Phase.Succeeded() {
		reason = "Succeeded"
	}
	return r.patchWorkload(ctx, w, func(conditions *[]metav1.Condition) {
		r.setOf(w, conditions, workloadFinished, metav1.ConditionTrue, reason, fmt.Sprintf("%s: %s", b.Status.Phase, b.Status.Message))
	})
}

// started marks the pods of a Workload as ready, for a Kueue that waits for pods
// (waitForPodsReady): the benchmark uses its quota from its admission, whenever it gets a bed.
func (r *Reconciler) started(ctx context.Context, w *unstructured.Unstructured) error {
	return r.patchWorkload(ctx, w, func(conditions *[]metav1.Condition) {
		r.setOf(w, conditions, workloadPodsReady, metav1.ConditionTrue, "Started", "the benchmark may wait for a bed")
	})
}

// requeue gives the quota of an evicted workload back, as Kueue expects it of who owns the
// workload. One that was evicted for another one is requeued at once.
func (r *Reconciler) requeue(ctx context.Context, w *unstructured.Unstructured, evicted *metav1.Condition) error {
	return r.patchWorkload(ctx, w, func(conditions *[]metav1.Condition) {
		again := metav1.ConditionFalse
		if evicted.Reason == evictedByPreemption {
			again = metav1.ConditionTrue
		}
		r.setOf(w, conditions, workloadRequeued, again, evicted.Reason, evicted.Message)
		r.setOf(w, conditions, workloadPodsReady, metav1.ConditionFalse, "WaitForStart", "the benchmark has no quota")
		r.setOf(w, conditions, workloadQuotaReserved, metav1.ConditionFalse, "Pending", evicted.Message)
		r.setOf(w, conditions, workloadAdmitted, metav1.ConditionFalse, "NoReservation", "The workload has no reservation")
		unstructured.RemoveNestedField(w.Object, "status", "admission")
	})
}

func (r *Reconciler) setOf(w client.Object, conditions *[]metav1.Condition, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: kit.Bounded(message),
		LastTransitionTime: metav1.NewTime(r.Now()), ObservedGeneration: w.GetGeneration(),
	})
}

// patchWorkload stores a change of the status, under an optimistic lock: Kueue writes it, too.
func (r *Reconciler) patchWorkload(ctx context.Context, w *unstructured.Unstructured, change func(*[]metav1.Condition)) error {
	before := w.DeepCopy()
	conditions := conditionsOf(w)
	change(&conditions)
	list := make([]any, len(conditions))
	for i := range conditions {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return fmt.Errorf("writing the conditions of workload %s: %w", w.GetName(), err)
		}
		list[i] = fields
	}
	if err := unstructured.SetNestedSlice(w.Object, list, "status", "conditions"); err != nil {
		return fmt.Errorf("writing the conditions of workload %s: %w", w.GetName(), err)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, w, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("storing the status of workload %s: %w", w.GetName(), err)
	}
	return nil
}
