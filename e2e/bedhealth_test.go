//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// healthNICs is a bridge between two interfaces of the node, measured with the engine xdp.
const healthNICs = `
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: nics-health}
spec:
  device: {physical: {vendor: Linux, model: bridge}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: node1, attachment: {hostDevice: {interface: nd-health1}}, speed: 1G, addresses: [198.18.3.1/24]}
  - {name: p2, node: node1, attachment: {hostDevice: {interface: nd-health2}}, speed: 1G, addresses: [198.18.3.2/24]}
  access: [{names: [team-routing]}]
`

// TestBedHealth applies a bed before its interfaces exist. It is closed with the reason, opens by
// itself when they do, and its benchmark is measured.
func TestBedHealth(t *testing.T) {
	together(t)
	l := newLab(t)
	g := NewWithT(t)
	l.applyText(t, nicTraffic("nics-health"))
	l.applyText(t, healthNICs)
	key := l.createOn(t, "health", "nics-health", "nics-health")
	ready := func(g Gomega) string {
		var bed v1alpha1.TestBed
		g.Expect(l.Get(t.Context(), client.ObjectKey{Name: "nics-health"}, &bed)).To(Succeed())
		g.Expect(bed.Status.Lease).To(BeNil())
		c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil {
			return ""
		}
		return c.Reason + ": " + c.Message
	}
	g.Eventually(ready, 2*time.Minute, poll).Should(HavePrefix("InterfaceMissing: node node1 has no interface nd-health1: correct spec.ports[0].attachment.hostDevice.interface"))
	g.Eventually(func(g Gomega) string { return l.benchmark(g, key).Status.Message }, time.Minute, poll).
		Should(HavePrefix("waits for bed nics-health, which is not ready: node node1 has no interface nd-health1"))

	makeNICs(t, "nd-health1", "nd-health2")
	l.expectMeasured(t, key)
	var bed v1alpha1.TestBed
	g.Expect(l.Get(t.Context(), client.ObjectKey{Name: "nics-health"}, &bed)).To(Succeed())
	var probes corev1.PodList // of this bed: other tests have beds that are probed at the same time
	g.Expect(l.List(t.Context(), &probes, client.InNamespace(labNamespace), client.MatchingLabels(labobjects.ProbeSelector(&bed)))).To(Succeed())
	g.Expect(probes.Items).To(BeEmpty())
}
