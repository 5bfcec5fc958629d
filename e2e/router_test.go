//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestRouter runs the sample against the real router: it passes with a
// throughput and a latency for every frame size, and a second benchmark waits
// for the first.
func TestRouter(t *testing.T) {
	l := newLab(t)
	awaitQuiet(t)
	// Many short trials find a conclusive row sooner than few long ones.
	short := append(slices.Clone(shortTrials), "trialDuration: 1s", "trialDuration: 500ms", "TrialDuration: 1s", "TrialDuration: 500ms", "durationSum: 2s", "durationSum: 1s")
	first := l.create(t, "router-first", short...)
	l.running(t, first)
	one := append([]string{"trafficProfileName: ipv4-pairs", "trafficProfileName: " + l.oneSize(t)}, short...)
	second := l.create(t, "router-second", one...)

	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		b := l.benchmark(g, second)
		g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseQueued))
		g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionBedLeased)).
			To(HaveField("Reason", v1alpha1.ReasonQueued))
	}, runTimeout, poll).Should(Succeed())
	g.Expect(l.benchmark(g, first).Status.Phase.Finished()).To(BeFalse(), "the second was queued only after the first had ended")

	b := l.finish(t, first)
	expectAllMeasured(g, b)
	var sizes []int32
	for _, row := range l.rows(t, b) {
		if row.Method == v1alpha1.MethodThroughput {
			sizes = append(sizes, row.FrameSize)
		}
	}
	g.Expect(sizes).To(Equal([]int32{64, 512, 1518}))
	g.Expect(l.environment(t, b)).NotTo(BeNil())
	g.Expect(l.environment(t, b).Hosts).To(HaveLen(1))
	host := l.environment(t, b).Hosts[0]
	t.Logf("tester on %q, device on %q %s", host.TesterCPUs, host.DeviceCPUs, host.Together)
	g.Expect(host.TesterCPUs).NotTo(BeEmpty())
	if host.CPUs > 1 {
		g.Expect(host.DeviceCPUs).NotTo(Or(BeEmpty(), Equal(host.TesterCPUs)), "the router has processors of its own: %s", host.Together)
	}
	l.expectClean(t, b)

	next := l.finish(t, second)
	expectAllMeasured(g, next)
	g.Expect(next.Status.StartTime.Time).NotTo(BeTemporally("<", b.Status.CompletionTime.Time))
	l.expectClean(t, next)

	// While others use the tester's processors no row may be conclusive: it measures again.
	conclusive := expectRouterRows(t, l.rows(t, b)) + expectRouterRows(t, l.rows(t, next))
	for i := 0; conclusive == 0 && i < 5; i++ {
		again := l.finish(t, l.create(t, fmt.Sprintf("router-again-%d", i), one...))
		expectAllMeasured(g, again)
		conclusive = expectRouterRows(t, l.rows(t, again))
	}
	g.Expect(conclusive).To(BeNumerically(">", 0), "the tester was the limit in every row")
}

// expectRouterRows checks what was measured over the router, and returns how many rows are conclusive.
func expectRouterRows(t *testing.T, rows []v1alpha1.ResultRow) int {
	t.Helper()
	g := NewWithT(t)
	conclusive := 0
	for _, row := range rows {
		t.Logf("%+v latency=%+v", row, row.Latency)
		g.Expect(row.Validity).NotTo(Equal(v1alpha1.ValidityValid), "a virtual device cannot give Valid rows")
		if row.Validity != v1alpha1.ValidityVirtual {
			// Others used the tester's processors: it says so, next to that the device is software.
			g.Expect(len(row.ValidityReasons)).To(BeNumerically(">", 1), "the reasons of %s: %q", row.Validity, row.ValidityReasons)
			continue
		}
		if row.Trials == 0 { // Latency at a throughput of 0, which a busy machine finds.
			continue
		}
		conclusive++
		g.Expect(row.Frames.Received).To(BeNumerically(">", 0))
		g.Expect(row.Latency).NotTo(BeNil())
		g.Expect(row.Latency.MinNs).To(And(BeNumerically(">", 0), BeNumerically("<=", row.Latency.AvgNs)))
		g.Expect(row.Latency.AvgNs).To(BeNumerically("<=", row.Latency.MaxNs))
		if row.Method == v1alpha1.MethodThroughput {
			g.Expect(row.Frames.LineRatePPM).To(BeNumerically(">", 0))
			g.Expect(row.Frames.Lost).To(BeZero(), "throughput is zero loss")
			g.Expect(row.Frames.Received).To(Equal(row.Frames.Sent))
		}
	}
	return conclusive
}
