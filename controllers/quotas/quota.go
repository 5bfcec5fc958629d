package quotas

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// Reconciler lets benchmarks that Kueue admits into the queues of beds, and marks
// suspended benchmarks as suspended. For each benchmark with a queue name it has a Workload
// that represents one bed. In a lab without Kueue, queue names have no effect.
type Reconciler struct{ kit.Base }

// Setup adds the controller of quotas to a manager, if Kueue is used.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	c := ctrl.NewControllerManagedBy(mgr).
		Named("quota").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(predicate.NewPredicateFuncs(ofQuota))).
		WithOptions(controller.Options{RateLimiter: kit.Patiently()})
	if r.Kueue {
		c = c.Owns(NewWorkload()).
			Watches(&v1alpha1.LabPolicy{}, handler.EnqueueRequestsFromMapFunc(r.ofClasses), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return c.Complete(r)
}

// ofClasses names the benchmarks whose Workloads have the priority of a class. A class can
// change, and the cache can have the LabPolicy later than the benchmark that names its class.
func (r *Reconciler) ofClasses(ctx context.Context, _ client.Object) []reconcile.Request {
	var all v1alpha1.BenchmarkList
	if err := r.List(ctx, &all); err != nil {
		log.FromContext(ctx).Error(err, "Listing the benchmarks of priority classes")
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		b := &all.Items[i]
		if kit.QueueNameOf(b) != "" && b.Spec.PriorityClassName != "" && !b.Status.Phase.Finished() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	return requests
}

// ofQuota passes benchmarks that are, or were, kept out of a queue.
func ofQuota(o client.Object) bool {
	b, ok := o.(*v1alpha1.Benchmark)
	return ok && (b.Spec.Suspend || kit.QueueNameOf(b) != "" || kit.ReasonOf(b.Status.Conditions, v1alpha1.ConditionQuotaReserved) != "")
}

// Reconcile requests admission of a benchmark from Kueue, applies the decision of Kueue, and
// reports the end of the benchmark to Kueue.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case b.Status.Phase.Finished():
		return kit.Settle(ctrl.Result{}, r.returnQuota(ctx, b))
	case b.Status.Outcome != "" || b.Spec.Abort || !b.DeletionTimestamp.IsZero():
		return ctrl.Result{}, nil // Its end is an event.
	}
	s := kit.NewScope(b.DeepCopy(), r.Now(), r.Timers)
	if s.Spec.Suspend {
		hold(s, v1alpha1.ReasonSuspended, "spec.suspend is set: set it to false to let the benchmark wait for a bed")
		return kit.Settle(ctrl.Result{}, r.StatusWriter().Store(ctx, s, nil))
	}
	if kit.QueueNameOf(b) == "" {
		return ctrl.Result{}, nil
	}
	if !r.Kueue {
		letIn(s, v1alpha1.ReasonKueueDisabled, "the operator runs without Kueue (kueue.enabled of the chart): the label "+v1alpha1.LabelQueueName+" counts for nothing")
		return kit.Settle(ctrl.Result{}, r.StatusWriter().Store(ctx, s, nil))
	}
	w, err := r.workloadOf(ctx, b)
	if err != nil {
		return kit.Settle(ctrl.Result{}, err)
	}
	return kit.Settle(ctrl.Result{}, r.follow(ctx, s, w))
}

// follow applies the decision of Kueue to a benchmark that is not finished. Where the
// benchmark has to leave the queue, that is stored before Kueue gets the quota back: the
// tests of its status let only one happen, that it gets a bed or that it loses the quota.
func (r *Reconciler) follow(ctx context.Context, s *kit.Scope, w *unstructured.Unstructured) error {
	held, err := kit.HeldBeds(ctx, r.Client, string(s.UID))
	if err != nil {
		return err
	}
	conditions := conditionsOf(w)
	hasBed := s.Status.TestBedName != "" || len(held) > 0
	evicted := meta.FindStatusCondition(conditions, workloadEvicted)
	isEvicted := evicted != nil && evicted.Status == metav1.ConditionTrue
	switch {
	case hasBed && isEvicted:
		letIn(s, v1alpha1.ReasonEvicted, fmt.Sprintf(
			"Kueue wants the quota back (%s: %s); the benchmark keeps it with bed %s until it ends", evicted.Reason, evicted.Message, s.Status.TestBedName))
	case hasBed:
	case isEvicted:
		hold(s, v1alpha1.ReasonWaitsForQuota, fmt.Sprintf("Kueue evicted the benchmark before it had a bed (%s): %s", evicted.Reason, evicted.Message))
	case kit.IsTrue(conditions, workloadAdmitted):
		queue, _, _ := unstructured.NestedString(w.Object, "status", "admission", "clusterQueue")
		letIn(s, v1alpha1.ReasonQuotaReserved, "Kueue admitted the benchmark by ClusterQueue "+queue)
	default:
		hold(s, v1alpha1.ReasonWaitsForQuota, "waits in LocalQueue "+kit.QueueNameOf(s.Benchmark)+" of Kueue"+whyNotAdmitted(conditions))
	}
	if err := r.StatusWriter().Store(ctx, s, nil); err != nil {
		return err
	}
	if err := r.rank(ctx, s.Benchmark, w, hasBed); err != nil {
		return err
	}
	switch {
	case isEvicted && !hasBed && kit.IsTrue(conditions, workloadQuotaReserved):
		return r.requeue(ctx, w, evicted)
	case !isEvicted && kit.IsTrue(conditions, workloadAdmitted) && !kit.IsTrue(conditions, workloadPodsReady):
		return r.started(ctx, w)
	}
	return nil
}

// whyNotAdmitted returns the message of Kueue about a workload that waits.
func whyNotAdmitted(conditions []metav1.Condition) string {
	for _, kind := range []string{workloadAdmitted, workloadQuotaReserved} {
		if c := meta.FindStatusCondition(conditions, kind); c != nil && c.Status != metav1.ConditionTrue && c.Message != "" {
			if kind == workloadQuotaReserved || kit.IsTrue(conditions, workloadQuotaReserved) {
				return ": " + c.Message
			}
		}
	}
	return ""
}

// hold keeps a benchmark out of the queues of beds.
func hold(s *kit.Scope, reason, message string) {
	s.Status.Phase = v1alpha1.PhasePending
	if kit.QueueNameOf(s.Benchmark) != "" {
		s.Set(v1alpha1.ConditionQuotaReserved, metav1.ConditionFalse, reason, message)
	}
	s.Set(v1alpha1.ConditionBedLeased, metav1.ConditionFalse, reason, message)
}

// letIn lets a benchmark into the queues of beds.
func letIn(s *kit.Scope, reason, message string) {
	s.Set(v1alpha1.ConditionQuotaReserved, metav1.ConditionTrue, reason, message)
	switch kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionBedLeased) {
	case v1alpha1.ReasonWaitsForQuota, v1alpha1.ReasonSuspended:
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionBedLeased)
		s.Status.Message = kit.Bounded(message)
	}
}
