package controllers_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// TestFullEtcd fills etcd. What a real API server answers then does not count against the time for which a clean-up is
// tried: nothing can be removed before there is space, and the bed is not to blame.
func TestFullEtcd(t *testing.T) {
	longtest.Skip(t, "histories, in which an API server gives the same answer (errDatabaseFull)")
	t.Parallel()
	s := launchServer(t, func(env *envtest.Environment) {
		env.ControlPlane.Etcd = &envtest.Etcd{}
		env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", fmt.Sprint(16<<20))
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	c := newClient(t, s.admin)
	first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first", Finalizers: []string{"nodrop.dev/test"}}}
	create(t, c, first)

	var err error
	for i := 0; err == nil && i < 100; i++ {
		large := make([]byte, 1<<19)
		if _, err := rand.Read(large); err != nil {
			t.Fatal(err)
		}
		err = c.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("filler-", i)}, BinaryData: map[string][]byte{"a": large},
		})
	}
	for what, err := range map[string]error{
		"creating": err,
		"patching": c.Patch(t.Context(), first, client.RawPatch(types.MergePatchType, []byte(`{"data": {"a": "b"}}`))),
		"deleting": c.Delete(t.Context(), first),
	} {
		if err == nil {
			t.Errorf("%s an object succeeded, and etcd should be full", what)
		} else if !kit.NoAnswer(err) {
			t.Errorf("%s an object counts as the fault of the object: %v", what, err)
		}
	}
}
