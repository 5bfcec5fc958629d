//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestGang applies the sample of a gang while one of its beds is closed: none starts, and both
// are measured at the same time once it is open.
func TestGang(t *testing.T) {
	long(t) // TestGang of controllers.
	together(t)
	l, g := newLab(t), NewWithT(t)
	east, west := client.ObjectKey{Namespace: teamNamespace, Name: "pair-east"}, client.ObjectKey{Namespace: teamNamespace, Name: "pair-west"}
	l.apply(t, "config", "samples", "gang", "lab.yaml")
	l.kubectlMust(t, "nodrop", "cordon", "pair-west")
	l.apply(t, "config", "samples", "gang", "team.yaml")
	g.Eventually(func() string { return l.benchmark(g, east).Status.Message }, runTimeout, poll).
		Should(ContainSubstring("gang pair gets its 2 beds at once; this member waits for bed pair-east"))
	l.kubectlMust(t, "nodrop", "uncordon", "pair-west")

	left, right := l.finish(t, east), l.finish(t, west)
	for _, b := range []*v1alpha1.Benchmark{left, right} {
		t.Cleanup(func() { l.remove(t, b) })
		g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseMeasured), b.Status.Message)
	}
	g.Expect(left.Status.StartTime.Time).NotTo(BeTemporally(">", right.Status.CompletionTime.Time))
	g.Expect(right.Status.StartTime.Time).NotTo(BeTemporally(">", left.Status.CompletionTime.Time))
}
