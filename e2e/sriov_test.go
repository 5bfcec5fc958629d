//go:build e2e

package e2e

import (
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
)

// nicBeds are a bridge between two NICs that a device plugin offers, and the same
// bridge with two more ports, for which there is no NIC.
const nicBeds = `
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
kind: TrafficProfile
metadata: {name: nics, namespace: team-routing}
spec:
  frameSizes: [512]
  pattern: {pairs: {bidirectional: true}}
  packet: {ipv4: {}}
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
  allowedNamespaces: {names: [team-routing]}
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
  allowedNamespaces: {names: [team-routing]}
`

// TestDevicePluginNICs measures a bridge between two NICs that are no one's until
// a pod asks for them: they move into the traffic pod, come back under their names,
// and are there for the next benchmark, which has waited for the bed. A bed with
// more ports than there are NICs says so.
func TestDevicePluginNICs(t *testing.T) {
	l := newLab(t)
	g := NewWithT(t)
	nics := []string{"nd-nic1", "nd-nic2"}
	makeNICs(t, nics...)
	before := hardwareAddresses(nics...)
	g.Expect(before).To(HaveLen(len(nics)))
	offerNICs(t, nics...)
	out, err := l.kubectl(t, nicBeds, "apply", "-f", "-")
	g.Expect(err).NotTo(HaveOccurred(), out)
	t.Cleanup(func() {
		if out, err := l.kubectl(t, nicBeds, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			t.Errorf("removing the beds: %v\n%s", err, out)
		}
	})
	l.awaitNICs(t, 2)
	l.expectTooFew(t, l.createOn(t, "nics-too-few", "nics-too-few"))

	first := l.createOn(t, "nics-first", "nics")
	b := l.running(t, first)
	second := l.createOn(t, "nics-second", "nics")
	pid := podProcess(t, l.pod(t, b, "agent"), "agent")
	g.Expect(hardwareAddressesInPod(t, pid, "p1", "p2")).To(ConsistOf(slices.Collect(maps.Values(before))))
	g.Expect(hardwareAddresses(nics...)).To(BeEmpty(), "the NICs are on the node and in the traffic pod")
	g.Eventually(func(g Gomega) {
		b := l.benchmark(g, second)
		g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseQueued))
		g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionBedLeased)).
			To(HaveField("Reason", v1alpha1.ReasonQueued))
	}, time.Minute, poll).Should(Succeed())
	g.Expect(l.benchmark(g, first).Status.Phase.Finished()).To(BeFalse(), "the second was queued only after the first had ended")

	b = l.finish(t, first)
	expectFrames(t, b)
	l.expectClean(t, b)
	next := l.finish(t, second)
	expectFrames(t, next)
	g.Expect(next.Status.StartTime.Time).NotTo(BeTemporally("<", b.Status.CompletionTime.Time))
	l.expectClean(t, next)
	g.Expect(hardwareAddresses(nics...)).To(Equal(before), "the NICs did not come back as they were")
	l.awaitNICs(t, 2)
}

// createOn creates a benchmark of a few seconds.
func (l *lab) createOn(t *testing.T, name, bed string) client.ObjectKey {
	t.Helper()
	seconds := func(n float64) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(n * float64(time.Second))}
	}
	b := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: name}}
	b.Spec = v1alpha1.BenchmarkSpec{
		TestBedName: bed, TrafficProfileName: "nics", SettleTime: seconds(0.1), RestTime: seconds(0),
		Tests: []v1alpha1.Test{
			{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
				Resolution: "5%", MinLoad: "0.5%", MaxLoad: "10%", TrialDuration: seconds(0.5), SearchTrialDuration: seconds(0.3),
			}},
			{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"5%"}, TrialDuration: seconds(1)}},
		},
	}
	if err := l.Create(t.Context(), b); err != nil {
		t.Fatalf("creating benchmark %s: %v", name, err)
	}
	t.Cleanup(func() { l.remove(t, b) })
	return client.ObjectKeyFromObject(b)
}

// expectFrames checks that a benchmark passed, and that it did so with frames.
func expectFrames(t *testing.T, b *v1alpha1.Benchmark) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhasePassed), b.Status.Message)
	g.Expect(b.Status.Rows).To(HaveLen(2))
	for _, row := range b.Status.Rows {
		t.Logf("%s: %s %d B: sent %d, received %d, %s %s", b.Name, row.Method, row.FrameSize, row.Sent, row.Received, row.Validity, row.Message)
		g.Expect(row.Sent).To(BeNumerically(">", 1000))
		g.Expect(row.Received).To(BeNumerically(">", 1000))
		if row.Method == v1alpha1.MethodThroughput {
			g.Expect(row.Received).To(Equal(row.Sent), "throughput is zero loss")
		}
	}
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
		g.Expect(b.Status.Rows).To(BeEmpty())
		t.Logf("too few NICs: %s", strings.Join(said, "; "))
	}, time.Minute, poll).Should(Succeed())
}
