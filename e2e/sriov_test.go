//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// claimedNICs is a bridge between two NICs that resource claims ask for.
const claimedNICs = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nics}
spec: {selectors: [{cel: {expression: 'device.driver == "nic.test.nodrop.dev"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: nic, namespace: nodrop-lab}
spec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: nics}}]}}}
---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: nics-claimed}
spec:
  device: {physical: {vendor: Linux, model: bridge}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: node1, attachment: {resourceClaim: {templateName: nic}}, speed: 1G, addresses: [198.18.3.1/24]}
  - {name: p2, node: node1, attachment: {resourceClaim: {templateName: nic}}, speed: 1G, addresses: [198.18.3.2/24]}
  access: [{names: [team-routing]}]
`

// pluggedNICs is the bridge between two NICs that a device plugin offers, and the
// same with two more ports, for which there is no NIC.
const pluggedNICs = `
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: nics
  namespace: nodrop-lab
  annotations: {k8s.v1.cni.cncf.io/resourceName: test.nodrop.dev/nic}
spec:
  config: '{"cniVersion": "1.0.0", "name": "nics", "type": "nodrop-nic"}'
---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: nics}
spec:
  device: {physical: {vendor: Linux, model: bridge}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: node1, attachment: {sriov: {resourceName: test.nodrop.dev/nic, networkName: nics}}, speed: 1G, addresses: [198.18.3.1/24]}
  - {name: p2, node: node1, attachment: {sriov: {resourceName: test.nodrop.dev/nic, networkName: nics}}, speed: 1G, addresses: [198.18.3.2/24]}
  access: [{names: [team-routing]}]
---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: nics-too-few}
spec:
  device: {physical: {vendor: Linux, model: bridge}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: node1, attachment: {sriov: {resourceName: test.nodrop.dev/nic, networkName: nics}}, speed: 1G, addresses: [198.18.3.1/24]}
  - {name: p2, node: node1, attachment: {sriov: {resourceName: test.nodrop.dev/nic, networkName: nics}}, speed: 1G, addresses: [198.18.3.2/24]}
  - {name: p3, node: node1, attachment: {sriov: {resourceName: test.nodrop.dev/nic, networkName: nics}}, speed: 1G, addresses: [198.18.3.3/24]}
  - {name: p4, node: node1, attachment: {sriov: {resourceName: test.nodrop.dev/nic, networkName: nics}}, speed: 1G, addresses: [198.18.3.4/24]}
  access: [{names: [team-routing]}]
`

// nicTraffic returns the manifest of a traffic profile.
func nicTraffic(name string) string {
	return fmt.Sprintf(`
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: %s, namespace: team-routing}
spec:
  frameSizes: [512]
  pattern: {pairs: {bidirectional: true}}
  packet: {ipv4: {}}
`, name)
}

// TestOfferedNICs measures a bridge between NICs that move into the traffic pod
// when it is scheduled, and come back under their names: by resource claims, and of
// a device plugin, where a second benchmark waits for the bed and then has the same
// NICs. A bed with more ports than there are NICs says so.
func TestOfferedNICs(t *testing.T) {
	together(t)
	l := newLab(t)
	plugged, claimed := []string{"nd-nic1", "nd-nic2"}, []string{"nd-nic3", "nd-nic4"}
	makeNICs(t, slices.Concat(plugged, claimed)...)
	t.Cleanup(func() { expectNoSockets(t) })
	offerNICs(t, "nicplugin", append([]string{"-resource", nicResource}, plugged...)...)
	offerNICs(t, "nicdriver", append([]string{"-driver", nicDriver, "-node", "node1"}, claimed...)...)
	l.applyText(t, nicTraffic("nics"))

	// Claims come first: they are known at once, the plugin's NICs only with the next
	// status of the node.
	t.Run("claims", func(t *testing.T) {
		l.applyText(t, claimedNICs)
		before := hardwareAddresses(claimed...)
		key := l.createOn(t, "nics-claimed", "nics-claimed", "nics")
		l.expectMoved(t, l.running(t, key), before)
		l.expectMeasured(t, key)
		NewWithT(t).Expect(hardwareAddresses(claimed...)).To(Equal(before), "the NICs did not come back as they were")
	})
	t.Run("plugin", func(t *testing.T) {
		g := NewWithT(t)
		l.awaitNICs(t, 2)
		l.applyText(t, pluggedNICs)
		l.expectTooFew(t, l.createOn(t, "nics-too-few", "nics-too-few", "nics"))
		before := hardwareAddresses(plugged...)
		first := l.createOn(t, "nics-first", "nics", "nics")
		b := l.running(t, first)
		second := l.createOn(t, "nics-second", "nics", "nics")
		l.expectMoved(t, b, before)
		g.Eventually(func(g Gomega) {
			b := l.benchmark(g, second)
			g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseQueued))
			g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionBedLeased)).
				To(HaveField("Reason", v1alpha1.ReasonQueued))
		}, time.Minute, poll).Should(Succeed())
		g.Expect(l.benchmark(g, first).Status.Phase.Finished()).To(BeFalse(), "the second was queued only after the first had ended")
		b = l.expectMeasured(t, first)
		next := l.expectMeasured(t, second)
		g.Expect(next.Status.StartTime.Time).NotTo(BeTemporally("<", b.Status.CompletionTime.Time))
		g.Expect(hardwareAddresses(plugged...)).To(Equal(before), "the NICs did not come back as they were")
	})
}

// applyText applies a manifest, which is removed again when the test ends.
func (l *lab) applyText(t *testing.T, manifest string) {
	t.Helper()
	if out, err := l.kubectl(t, manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := l.kubectl(t, manifest, "delete", "-f", "-"); err != nil {
			t.Errorf("kubectl delete: %v\n%s", err, out)
		}
	})
}

// createOn creates a benchmark of a few seconds.
func (l *lab) createOn(t *testing.T, name, bed, profile string) client.ObjectKey {
	t.Helper()
	milliseconds := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Millisecond} }
	b := objects.Benchmark(teamNamespace, name,
		objects.BedName(bed), objects.ProfileName(profile), objects.Pauses(100*time.Millisecond, 0),
		objects.Tests([]v1alpha1.Test{
			{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
				Resolution: "5%", MinLoad: "0.5%", MaxLoad: "10%", TrialDuration: milliseconds(500), SearchTrialDuration: milliseconds(300),
			}},
			// Long enough for a look at the pod while it is measured.
			{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"5%"}, TrialDuration: milliseconds(2000)}},
		}...),
	)
	if err := l.Create(t.Context(), b); err != nil {
		t.Fatalf("creating benchmark %s: %v", name, err)
	}
	t.Cleanup(func() { l.remove(t, b) })
	return client.ObjectKeyFromObject(b)
}

// expectMoved checks that NICs are in the traffic pod, and only there.
func (l *lab) expectMoved(t *testing.T, b *v1alpha1.Benchmark, nics map[string]string) {
	t.Helper()
	g := NewWithT(t)
	pid := podProcess(t, l.pod(t, b, "agent"), "agent")
	g.Expect(hardwareAddressesInPod(t, pid, "p1", "p2")).To(ConsistOf(slices.Collect(maps.Values(nics))))
	g.Expect(hardwareAddresses(slices.Collect(maps.Keys(nics))...)).To(BeEmpty(), "the NICs are on the node too")
}

// expectMeasured waits for the end of a benchmark, and checks that all was measured, with
// frames, and that nothing is left.
func (l *lab) expectMeasured(t *testing.T, key client.ObjectKey) *v1alpha1.Benchmark {
	t.Helper()
	g := NewWithT(t)
	b := l.finish(t, key)
	expectAllMeasured(g, b)
	g.Expect(l.rows(t, b)).To(HaveLen(2))
	for _, row := range l.rows(t, b) {
		t.Logf("%s: %s %d B: sent %d, received %d, %s %s", b.Name, row.Method, row.FrameSize, row.Frames.Sent, row.Frames.Received, row.Validity, row.Message)
		g.Expect(row.Frames.Sent).To(BeNumerically(">", 0))
		g.Expect(row.Frames.Received).To(BeNumerically(">", 0))
		if row.Method == v1alpha1.MethodThroughput {
			g.Expect(row.Frames.Received).To(Equal(row.Frames.Sent), "throughput is zero loss")
		}
	}
	l.expectClean(t, b)
	return b
}

// expectTooFew waits until the bed or the benchmark says which resource the node
// has too little of.
func (l *lab) expectTooFew(t *testing.T, key client.ObjectKey) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		b := l.benchmark(g, key)
		var bed v1alpha1.TestBed
		g.Expect(l.Get(t.Context(), client.ObjectKey{Name: b.Spec.TestBedName}, &bed)).To(Succeed())
		var said []string
		for _, c := range slices.Concat(bed.Status.Conditions, b.Status.Conditions) {
			if c.Status != metav1.ConditionTrue && strings.Contains(c.Message, nicResource) {
				said = append(said, c.Type+": "+c.Message)
			}
		}
		g.Expect(said).NotTo(BeEmpty(), "phase %s: %s", b.Status.Phase, b.Status.Message)
		g.Expect(l.rows(t, b)).To(BeEmpty())
		t.Logf("too few NICs: %s", strings.Join(said, "; "))
	}, time.Minute, poll).Should(Succeed())
}
