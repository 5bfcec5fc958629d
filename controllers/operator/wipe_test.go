package operator_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// TestWipe removes a benchmark that no operator releases, and whose durations have other texts in Go than in its manifest.
func TestWipe(t *testing.T) {
	r := newRotation(t)
	r.namespace("team-routing")
	for _, o := range kubetest.Objects(t, filepath.Join(kubetest.Root(t), "config", "samples", "sim", "3-benchmark.yaml")) {
		o.SetFinalizers([]string{v1alpha1.FinalizerLeased})
		r.Expect(r.admin.Create(t.Context(), o)).To(Succeed())
	}
	r.wipe()
	var left v1alpha1.BenchmarkList
	r.Expect(r.admin.List(t.Context(), &left, client.InNamespace("team-routing"))).To(Succeed())
	r.Expect(left.Items).To(BeEmpty())
}
