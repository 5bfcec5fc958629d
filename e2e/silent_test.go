//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestSilentDevice measures a router at an address that it does not have. The
// result is a throughput of 0 that says why, not a benchmark that hangs.
func TestSilentDevice(t *testing.T) {
	long(t)
	together(t)
	alone(t, &theRouter)
	l := newLab(t)
	g := NewWithT(t)
	var bed v1alpha1.TestBed
	g.Expect(l.Get(t.Context(), client.ObjectKey{Name: bedName}, &bed)).To(Succeed())
	silent := objects.TestBed("", objects.BedSpec(*bed.Spec.DeepCopy()))
	silent.Name = "frr-silent"
	silent.Spec.Ports[0].Gateways = []string{"198.18.1.254"}
	silent.Spec.Ports[1].Gateways = []string{"198.18.2.254"}
	g.Expect(l.Create(t.Context(), silent)).To(Succeed())

	key := l.create(t, "silent", append([]string{
		"testBedName: frr-router", "testBedName: frr-silent", "trafficProfileName: ipv4-pairs", "trafficProfileName: " + l.oneSize(t),
	}, shortTrials...)...)
	b := l.finish(t, key)
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseFailed), b.Status.Message)
	g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionMeasured)).
		To(HaveField("Reason", v1alpha1.ReasonNothingForwarded))
	for _, row := range l.rows(t, b) {
		if row.Method == v1alpha1.MethodThroughput {
			g.Expect(row.Frames.LineRatePPM).To(BeZero())
			g.Expect(row.Message).To(And(
				ContainSubstring("no test frame came back on p"),
				ContainSubstring("ARP for 198.18.1.254 was not answered on p1")))
		}
	}
	l.expectClean(t, b)
	l.remove(t, b)
	g.Expect(l.Delete(t.Context(), silent)).To(Succeed())
}
