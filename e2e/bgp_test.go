//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"strconv"
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

// bgpRouter is the container of the router of labs/frr-bgp.
const bgpRouter = "clab-frr-bgp-dut"

// TestLearntRoutes measures the throughput of RFC 2544 to 8 networks that each of two peers
// announces to a real FRR router, whose configuration is made from the bed's sessions, with
// passwords and BFD. Then a session is reset in the middle of a trial, and in full length the router's BFD
// falls silent in the middle of another: these rows rest on a second trial.
func TestLearntRoutes(t *testing.T) {
	together(t)
	alone(t, &theRouter)
	l := newLab(t)
	g := NewWithT(t)
	if out, err := l.kubectl(t, "", "apply", "-k", l.path("labs", "frr-bgp")); err != nil {
		t.Fatalf("kubectl apply -k labs/frr-bgp: %v\n%s", err, out)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: "frr-bgp"}, StringData: map[string]string{"peer": "swordfish"}}
	profile := objects.TrafficProfile(teamNamespace, "learnt", objects.ProfileSpec(v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{512},
		Pattern:    v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: new(true)}},
		Packet:     v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
		Routing: &v1alpha1.ProfileRouting{Routes: []v1alpha1.RouteSet{{
			Name: "networks", First: "198.18.128.0/24", Count: 8, ASPath: []int64{64512},
		}}},
	}))
	benchmark := objects.Benchmark(teamNamespace, "learnt")
	second, soak := metav1.Duration{Duration: time.Second}, metav1.Duration{Duration: 12 * time.Second}
	// A busy machine notices late that the trial runs, and BFD detects the silence after 3 s.
	silence := metav1.Duration{Duration: 24 * time.Second}
	benchmark.Spec = v1alpha1.BenchmarkSpec{
		TestBedName: "frr-bgp", TrafficProfileName: profile.Name,
		SettleTime: metav1.Duration{Duration: 200 * time.Millisecond}, RestTime: &metav1.Duration{},
		Tests: []v1alpha1.Test{
			{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "10%", TrialDuration: second, SearchTrialDuration: second}},
			{Name: "reset", Soak: &v1alpha1.SoakTest{Load: "1%", Duration: soak}},
			{Name: "silence", Soak: &v1alpha1.SoakTest{Load: "1%", Duration: silence}},
		},
	}
	if testing.Short() { // TestBFDDown of internal/routing/bgp has routers whose BFD falls silent.
		benchmark.Spec.Tests = benchmark.Spec.Tests[:2]
	}
	bed := objects.TestBed("frr-bgp")
	g.Expect(l.Create(t.Context(), secret)).To(Succeed())
	manifest, err := os.ReadFile(l.path("labs", "frr-bgp", "testbed.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	// A router that shares two processors with others sends nothing for three intervals.
	const bfd = "bfd: {interval: 150ms, multiplier: "
	patient := strings.Replace(string(manifest), bfd+"3}", bfd+"20}", 1)
	g.Expect(patient).NotTo(Equal(string(manifest)))
	if out, err := l.kubectl(t, patient, "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply -f labs/frr-bgp/testbed.yaml: %v\n%s", err, out)
	}
	g.Expect(l.Create(t.Context(), profile)).To(Succeed())
	g.Expect(l.Create(t.Context(), benchmark)).To(Succeed())
	t.Cleanup(func() {
		l.remove(t, benchmark)
		for _, o := range []client.Object{bed, profile, secret} {
			if err := l.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		}
	})
	key := client.ObjectKeyFromObject(benchmark)

	l.inMiddle(t, key, "reset")
	t.Logf("sessions at the router:\n%s%s", inRouter(t, "vtysh", "-c", "show bgp ipv4 unicast summary"), inRouter(t, "vtysh", "-c", "show bfd peers"))
	inRouter(t, "vtysh", "-c", "clear bgp 198.18.1.2")

	if !testing.Short() {
		l.inMiddle(t, key, "silence")
		inRouter(t, "sh", "-c", "kill -STOP $(cat /run/frr/bfdd.pid)")
		g.Eventually(func() string { return inRouter(t, "vtysh", "-d", "bgpd", "-c", "show bgp neighbors 198.18.1.2") }, runTimeout, poll).
			Should(ContainSubstring("Cease/BFD Down"), "the tester ends the session")
		inRouter(t, "sh", "-c", "kill -CONT $(cat /run/frr/bfdd.pid)")
	}

	b := l.finish(t, key)
	expectAllMeasured(g, b)
	rows := l.rows(t, b)
	g.Expect(rows).To(HaveLen(len(benchmark.Spec.Tests)))
	for _, row := range rows {
		t.Logf("%s: %d trials, %+v, %s %q", row.Name(), row.Trials, row.Frames, row.Validity, row.ValidityReasons)
		g.Expect(row.Validity).NotTo(Equal(v1alpha1.ValidityInvalid))
		g.Expect(row.Frames.Received).To(BeNumerically(">", 0))
	}
	g.Expect(rows[0].Frames.Lost).To(BeZero(), "throughput is zero loss")
	for _, row := range rows[1:] {
		// On a busy machine BFD ends a session by itself: that trial is void, too.
		g.Expect(row.Trials).To(BeNumerically(">=", 2), "%s: the trial in which the session goes down is void and run again", row.Test)
		g.Expect(row.Frames.Lost).To(BeNumerically("<", row.Frames.Sent/100), "%s: the row is that of the last trial", row.Test)
	}
	l.expectClean(t, b)
}

// inMiddle waits until the frames of a test's trial pass the router.
func (l *lab) inMiddle(t *testing.T, key client.ObjectKey, test string) {
	t.Helper()
	var before int64
	NewWithT(t).Eventually(func(g Gomega) {
		b := l.benchmark(g, key)
		g.Expect(b.Status.Phase.Finished()).To(BeFalse(), b.Status.Message)
		g.Expect(b.Status.Progress).NotTo(BeNil(), b.Status.Message)
		g.Expect(b.Status.Progress.Trial).To(HavePrefix(test + " "))
		last := before
		before = forwarded(t)
		g.Expect(last).To(And(BeNumerically(">", 0), BeNumerically("<", before-100)))
	}, runTimeout, poll).Should(Succeed())
}

// inRouter runs a command in the router's container.
func inRouter(t *testing.T, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", append([]string{"exec", bgpRouter}, command...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker exec %s %q: %v\n%s", bgpRouter, command, err, out)
	}
	return string(out)
}

// forwarded returns the number of frames that the router has sent on its second port.
func forwarded(t *testing.T) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(inRouter(t, "cat", "/sys/class/net/eth2/statistics/tx_packets")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
