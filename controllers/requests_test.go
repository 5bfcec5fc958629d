package controllers_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// stepPause is the time between two steps of a pod.
const stepPause = 300 * time.Millisecond

// step lets a pod make the next step of its start or end.
func (k *fakeKubelet) step(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	if left := stepPause - time.Since(k.stepped[pod.UID]); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	k.stepped[pod.UID] = time.Now()
	again := reconcile.Result{RequeueAfter: stepPause}
	container := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name}
	if len(pod.Status.ContainerStatuses) > 0 {
		container = pod.Status.ContainerStatuses[0]
	}
	state, ready := &container.State, corev1.ConditionFalse
	switch deleted := !pod.DeletionTimestamp.IsZero(); {
	case pod.Spec.NodeName == "":
		return again, client.IgnoreNotFound(k.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: "node1"},
		}))
	case deleted && state.Running != nil:
		*state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
		pod.Status.Phase = corev1.PodSucceeded
	case deleted:
		return again, client.IgnoreNotFound(k.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}))
	case state.Waiting == nil && state.Running == nil:
		state.Waiting, pod.Status.Phase = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}, corev1.PodPending
	case state.Waiting != nil:
		*state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	case kit.IsReady(pod):
		return reconcile.Result{}, nil
	default:
		ready = corev1.ConditionTrue
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{container}
	pod.Status.Conditions = append(slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }),
		corev1.PodCondition{Type: corev1.PodReady, Status: ready})
	return again, client.IgnoreNotFound(k.Status().Update(ctx, pod))
}

// TestRequests prints the requests of the operator for one benchmark in their order, and bounds them. Its pods start and end in steps,
// each of which is an event.
func TestRequests(t *testing.T) {
	w := newWorld(t, startServer(t), counted, func(w *world) {
		w.change = func(o *kit.Options) { o.Poll, o.ProgressEvery = time.Second, 5*time.Second }
	})
	w.kubelet.mu.Lock()
	w.kubelet.inSteps = true
	w.kubelet.mu.Unlock()
	w.runners.always(measured(row(64)))
	w.modelledBed()
	w.Eventually(func() bool { return kit.IsOpen(w.bed("sim")) }).Should(BeTrue(), "the bed is ready")
	begin := len(w.requests.sequence())
	create(t, w.c, benchmark("b", "sim"))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
	requests := slices.DeleteFunc(w.requests.sequence()[begin:], func(r string) bool { return strings.Contains(r, "(watch)") || strings.Contains(r, "leases") })
	t.Logf("%d requests:\n%s", len(requests), strings.Join(requests, "\n"))
	w.Expect(len(requests)).To(BeNumerically("<=", 56), "requests")
	count := func(words string) (n int) {
		for _, r := range requests {
			if strings.Contains(r, words) {
				n++
			}
		}
		return n
	}
	w.Expect(count("404 ")).To(BeZero(), "requests for what does not exist")
	w.Expect(count("PATCH benchmarks/status")).To(BeNumerically("<=", 6), "writes of its status")
	w.Expect(count("DELETE pods")).To(Equal(1), "deletions of its pod")
}
