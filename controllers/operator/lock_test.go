package operator_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestKilledOperatorGoesOn: an operator that was killed has the lease when it starts again,
// even where it lasts for an hour, and another one does not.
func TestKilledOperatorGoesOn(t *testing.T) {
	r := newRotation(t)
	key := client.ObjectKey{Namespace: operator.DefaultNamespace, Name: "nodrop-operator"}
	began := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	left := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	left.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: new("killed"), LeaseDurationSeconds: new(int32(3600)),
		AcquireTime: &began, RenewTime: &began, LeaseTransitions: new(int32(7)),
	}
	r.Expect(r.admin.Create(t.Context(), left)).To(Succeed())
	start := func(identity string) <-chan struct{} {
		mgr, err := operator.NewManager(r.replicas, operator.Config{
			Namespace: operator.DefaultNamespace, Lab: labobjects.Settings{Namespace: operator.DefaultLabNamespace},
			MetricsAddress: "0", HealthAddress: "0", LeaderElect: true, Identity: identity,
		})
		r.Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- mgr.Start(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the operator %s ended: %v", identity, err)
			}
		})
		return mgr.Elected()
	}
	another := start("another")
	r.Eventually(start("killed")).Should(BeClosed())
	var lease coordinationv1.Lease
	r.Expect(r.admin.Get(t.Context(), key, &lease)).To(Succeed())
	r.Expect(*lease.Spec.HolderIdentity).To(Equal("killed"))
	r.Expect(*lease.Spec.LeaseTransitions).To(BeEquivalentTo(7), "it is the same leader")
	r.Expect(lease.Spec.AcquireTime.Time).To(BeTemporally("==", began.Time))
	r.Expect(another).NotTo(BeClosed())
}
