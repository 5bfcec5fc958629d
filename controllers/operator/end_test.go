package operator_test

import (
	"context"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestBusyOperatorEnds: an operator ends in time whose workers all take and requeue work.
func TestBusyOperatorEnds(t *testing.T) {
	r := newRotation(t)
	for range 20 {
		mgr, err := operator.NewManager(r.replicas, operator.Config{
			Namespace: operator.DefaultNamespace, Lab: labobjects.Settings{Namespace: operator.DefaultLabNamespace},
			MetricsAddress: "0", HealthAddress: "0",
		})
		r.Expect(err).NotTo(HaveOccurred())
		var reconciled atomic.Int64
		busy, err := controller.NewTyped("busy", mgr, controller.TypedOptions[int]{
			MaxConcurrentReconciles: 20,
			Reconciler: reconcile.TypedFunc[int](func(context.Context, int) (ctrl.Result, error) {
				reconciled.Add(1)
				return ctrl.Result{RequeueAfter: 1}, nil
			}),
		})
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(busy.Watch(source.TypedFunc[int](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[int]) error {
			for i := range 100 {
				queue.Add(i)
			}
			return nil
		}))).To(Succeed())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(ctx) }()
		r.Eventually(reconciled.Load).Should(BeNumerically(">", 1000))
		cancel()
		r.Expect(<-ended).To(Succeed())
	}
}
