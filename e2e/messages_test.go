//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestMessages sends multicast messages from a host to four hosts in the traffic pod, over a bridge that snoops IGMP in a virtual
// device. Without -short the process of the agent is killed in the search: the row begins again, and no host is left.
func TestMessages(t *testing.T) {
	l, g := newLab(t), NewWithT(t)
	topology, bed := messagesBed(t, l)
	for _, o := range []client.Object{topology, bed} {
		g.Expect(l.Create(t.Context(), o)).To(Succeed())
		t.Cleanup(func() { l.discard(t, o) })
	}
	profile := objects.TrafficProfile(teamNamespace, "messages", objects.IPv4Pairs(64))
	g.Expect(l.Create(t.Context(), profile)).To(Succeed())
	t.Cleanup(func() { l.discard(t, profile) })
	b := objects.Benchmark(teamNamespace, "messages")
	seconds, maximum := int64(2), int32(2000)
	if testing.Short() { // TestRunMessageRate of cmd/nodrop searches a limit.
		seconds, maximum = 1, 1000
	}
	duration := metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	b.Spec = v1alpha1.BenchmarkSpec{
		TestBedName: bed.Name, TrafficProfileName: profile.Name,
		Tests: []v1alpha1.Test{{Name: "messages", MessageRate: &v1alpha1.MessageRateTest{Groups: 100, Subscribers: 4, MinimumRate: 500, MaximumRate: maximum, Resolution: 500, TrialDuration: &duration}}},
	}
	g.Expect(l.Create(t.Context(), b)).To(Succeed())
	t.Cleanup(func() { l.remove(t, b) })
	key := client.ObjectKeyFromObject(b)
	if !testing.Short() { // TestIncast kills it as well.
		b = l.inPhase(t, key, v1alpha1.PhaseRunning, 0)
		l.killContainer(t, b, "agent")
	}
	b = l.finish(t, key)
	expectAllMeasured(g, b)
	rows := l.rows(t, b)
	g.Expect(rows).To(HaveLen(1))
	sum := rows[0].MessageRate
	g.Expect(sum).NotTo(BeNil(), rows[0].Message)
	t.Logf("%s: %+v, passed %+v, failed %+v", rows[0].Message, *sum, sum.Passed, sum.Failed)
	g.Expect(sum.Rate).To(BeNumerically(">=", 500), rows[0].Message)
	g.Expect(sum.Passed).To(And(HaveField("Lost", BeZero()), HaveField("Subscribers", HaveLen(4))))
	g.Expect(sum.Passed.Sent).To(BeNumerically(">=", seconds*sum.Rate*98/100), "%d s at this rate", seconds)
	l.expectClean(t, b)
}

// messagesBed returns the bed of labs/slow-router with a bridge in place of the router.
func messagesBed(t *testing.T, l *lab) (*corev1.ConfigMap, *v1alpha1.TestBed) {
	t.Helper()
	text, err := os.ReadFile(l.path("labs", "slow-router", "topology.clab.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "message-bridge"
	edited := strings.NewReplacer(
		"name: slow-router", "name: "+name,
		"- ip address add 198.18.1.1/24 dev eth1", "- ip link add br0 type bridge mcast_snooping 1 mcast_querier 1",
		"- ip address add 198.18.2.1/24 dev eth2", "- ip link set br0 up",
		"- tc qdisc add dev eth1 root tbf rate 100mbit burst 16384 limit 32000", "- ip link set eth1 master br0\n        - ip link set eth2 master br0",
	).Replace(string(text))
	topology := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: name}, Data: map[string]string{"topology.clab.yaml": edited}}
	l.apply(t, "config", "samples", "incast-router", "testbed.yaml")
	var bed v1alpha1.TestBed
	if err := l.Get(t.Context(), client.ObjectKey{Name: "slow-router"}, &bed); err != nil {
		t.Fatal(err)
	}
	bed = v1alpha1.TestBed{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: bed.Spec}
	bed.Spec.Device.Containerlab.Topology.ConfigMapRef.Name = name
	for i := range bed.Spec.Ports {
		bed.Spec.Ports[i].Gateways = nil
		bed.Spec.Ports[i].Addresses = []string{[]string{"198.18.1.2/24", "198.18.1.3/24"}[i]}
	}
	return topology, &bed
}
