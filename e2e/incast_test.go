//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestIncast runs hosts with TCP in the traffic pod, over a router with a small queue, over which the goodput of many servers collapses. The runner is killed between two rows, and the process of
// the agent in one: each row is there once, and no host is left. The traffic pod has the right to make network
// namespaces for this benchmark, and not for one without hosts on the same bed.
func TestIncast(t *testing.T) {
	l, g := newLab(t), NewWithT(t)
	awaitQuiet(t)
	if out, err := l.kubectl(t, "", "apply", "-k", l.path("labs", "slow-router")); err != nil {
		t.Fatalf("kubectl apply -k labs/slow-router: %v\n%s", err, out)
	}
	l.apply(t, "config", "samples", "incast-router", "testbed.yaml")
	servers := []int32{1, 2, 4, 8, 16, 32}
	manifest := l.text(t, "config", "samples", "incast-router", "benchmark.yaml")
	if testing.Short() { // TestRunIncast of cmd/nodrop measures without a cluster.
		servers = []int32{1, 2, 16, 32}
		g.Expect(manifest).To(ContainSubstring("[1, 2, 4, 8, 16, 32]"))
		manifest = strings.Replace(manifest, "[1, 2, 4, 8, 16, 32]", "[1, 2, 16, 32]", 1)
	}
	if out, err := l.kubectl(t, manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	key := client.ObjectKey{Namespace: teamNamespace, Name: "incast-router"}
	t.Cleanup(func() {
		l.remove(t, &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	})
	b := l.inPhase(t, key, v1alpha1.PhaseRunning, 1)
	capabilities := func(p *corev1.Pod) []corev1.Capability { return p.Spec.Containers[0].SecurityContext.Capabilities.Add }
	g.Expect(capabilities(l.pod(t, b, "agent"))).To(ContainElement(labobjects.HostCapability))
	l.deletePod(t, b, "runner")
	b = l.inPhase(t, key, v1alpha1.PhaseRunning, 2)
	l.killContainer(t, b, "agent")
	b = l.finish(t, key)
	expectAllMeasured(g, b)
	rows := l.rows(t, b)
	g.Expect(duplicateRows(rows)).To(BeEmpty())
	var measured []int32
	for _, row := range rows {
		sum := row.Incast
		g.Expect(sum).NotTo(BeNil())
		t.Logf("%d servers: %+v", row.Servers, *sum)
		measured = append(measured, row.Servers)
		g.Expect(sum.Iterations).To(BeEquivalentTo(30))
		g.Expect(sum.CongestionControl).To(Equal("reno"))
		g.Expect(sum.Bytes).To(BeEquivalentTo(400_000))
		g.Expect(sum.ReceivedBytes).To(BeNumerically(">", sum.Bytes*sum.Iterations), "the counter of the client's interface has headers as well")
		g.Expect(sum.GoodputBitsPerSecond).To(BeNumerically("<", 100_000_000), "the router sends so much")
		g.Expect(sum.RetransmissionsByServer).To(HaveLen(int(row.Servers)))
	}
	g.Expect(measured).To(Equal(servers))
	g.Expect(rows[0].Incast.GoodputBitsPerSecond).To(BeNumerically(">", 60_000_000), "one server does not lose its last segments")
	last := rows[len(rows)-1].Incast
	g.Expect(last.Collapsed).To(HaveValue(BeTrue()), "32 first windows of TCP are ten times the queue")
	g.Expect(last.Timeouts).To(BeNumerically(">", 0))
	l.expectClean(t, b)

	const reno = "reno" // The default of the node's kernel may be bbr, which loses a quarter of its segments at this queue.
	others := objects.Benchmark(teamNamespace, "transfers")
	others.Spec = v1alpha1.BenchmarkSpec{
		TestBedName: "slow-router", TrafficProfileName: "hosts",
		Tests: []v1alpha1.Test{
			{Name: "bulk", Bulk: &v1alpha1.BulkTest{Size: 60_000_000, Connections: 4, CongestionControl: reno, Sender: "p2", Receiver: "p1"}},
			{Name: "rpc", RPCLatency: &v1alpha1.RPCLatencyTest{MessageSizes: []int32{64}, Requests: 1000, CongestionControl: reno}},
			{Name: "ring", Collectives: &v1alpha1.CollectivesTest{Hosts: 4, MessageSizes: []int32{64_000}, Repetitions: 20, CongestionControl: reno}},
			{Name: "mixed", Incast: &v1alpha1.IncastTest{Servers: []int32{4}, BlockSize: 100_000, Iterations: 30, CongestionControl: reno, Stateless: &v1alpha1.StatelessTraffic{Load: "1%"}}},
			{Name: "connections", Connections: &v1alpha1.ConnectionsTest{Measure: v1alpha1.ConnectionsCapacity, Connections: 2000}},
			{Name: "udp", Connections: &v1alpha1.ConnectionsTest{Protocol: v1alpha1.ConnectionsUDP, Measure: v1alpha1.ConnectionsCapacity, Connections: 500, WaitTime: &metav1.Duration{Duration: time.Second}}},
		},
	}
	g.Expect(l.Create(t.Context(), others)).To(Succeed())
	t.Cleanup(func() { l.remove(t, others) })
	b = l.finish(t, client.ObjectKeyFromObject(others))
	expectAllMeasured(g, b)
	rows = l.rows(t, b)
	g.Expect(rows).To(HaveLen(6))
	t.Logf("bulk: %+v; requests: %+v; collectives: %+v; frames next to an incast: %+v", rows[0].Bulk, rows[1].RPCLatency, rows[2].Collectives, rows[3].Incast.Stateless)
	g.Expect(rows[0].Bulk).To(HaveField("ReceivedBytes", BeEquivalentTo(60_000_000)), "%s", rows[0].Message)
	g.Expect(rows[0].Bulk.GoodputBitsPerSecond).To(And(BeNumerically(">", 60_000_000), BeNumerically("<", 100_000_000)), "the router sends 100 Mbit/s")
	g.Expect(rows[0].Bulk).To(And(HaveField("CongestionControl", reno), HaveField("ReceivedByConnection", HaveLen(4))))
	g.Expect(rows[1].RPCLatency).To(HaveField("Requests", BeEquivalentTo(1000)), "%s", rows[1].Message)
	g.Expect(rows[2].Collectives).To(And(HaveField("Repetitions", BeEquivalentTo(20)), HaveField("WrongResults", BeZero()), HaveField("StepP50Ns", HaveLen(6))), "%s", rows[2].Message)
	mixed := rows[3].Incast.Stateless
	g.Expect(mixed).NotTo(BeNil(), "%s", rows[3].Message)
	g.Expect(mixed.Sent).To(BeNumerically(">", 0))
	g.Expect(mixed.Lost).To(Equal(mixed.Sent - mixed.Received))
	g.Expect(mixed.BitsPerSecond+mixed.TCPBitsPerSecond).To(BeNumerically("<", 110_000_000), "the router sends 100 Mbit/s, and its queue is not empty at the end")
	g.Expect(rows[2].Collectives.BusBitsPerSecond).To(BeNumerically("<", 100_000_000), "every second link goes over the router")
	for i, all := range []int{2000, 500} {
		g.Expect(rows[4+i].Connections).To(HaveField("Capacity", HaveValue(BeEquivalentTo(all))), "a router without connection tracking holds all: %s", rows[4+i].Message)
	}
	l.expectClean(t, b)

	plain := l.create(t, "no-hosts", append(slices.Clone(shortTrials), "testBedName: frr-router", "testBedName: slow-router", "trafficProfileName: ipv4-pairs", "trafficProfileName: hosts")...)
	l.running(t, plain)
	g.Expect(capabilities(l.pod(t, l.benchmark(g, plain), "agent"))).NotTo(ContainElement(labobjects.HostCapability))
}
