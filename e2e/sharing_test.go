//go:build e2e

package e2e

import (
	"fmt"
	"slices"
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

// TestThreeTeams has three teams share two beds: the order is by what a team is behind, then by
// priority; a reserved bed is used by its holder only; a team without a grant learns
// which one it needs. TestPreemption has the preemption.
func TestThreeTeams(t *testing.T) {
	long(t) // TestSharing, TestReservations and TestAccess of controllers.
	together(t)
	alone(t, &thePolicy)
	l, g := newLab(t), NewWithT(t)
	l.sharedBeds(t)
	l.kubectlMust(t, "nodrop", "cordon", "shared-1")

	// Team c has reserved the second bed for the next hour.
	r := &v1alpha1.Reservation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "sharing-c", Name: "hands-on"},
		Spec: v1alpha1.ReservationSpec{
			TestBedNames: []string{"shared-2"}, From: metav1.NewTime(time.Now().Add(-time.Minute)), Until: metav1.NewTime(time.Now().Add(time.Hour)),
		},
	}
	g.Expect(l.Create(t.Context(), r)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(l.Get(t.Context(), client.ObjectKeyFromObject(r), r)).To(Succeed())
		g.Expect(r.Status.Phase).To(Equal(v1alpha1.ReservationActive), r.Status.Message)
	}, time.Minute, poll).Should(Succeed())

	var queued []*v1alpha1.Benchmark
	want := []string{"sharing-a/soon", "sharing-b/only", "sharing-a/first", "sharing-a/second"}
	for i, b := range []struct {
		namespace, name, class string
	}{{"sharing-a", "first", ""}, {"sharing-b", "only", ""}, {"sharing-a", "soon", "soon"}, {"sharing-a", "second", ""}} {
		if i > 0 {
			g.Eventually(func() bool { return time.Now().Truncate(time.Second).After(queued[i-1].CreationTimestamp.Time) }, poll*10, poll).Should(BeTrue())
		}
		queued = append(queued, l.share(t, b.namespace, b.name, func(spec *v1alpha1.BenchmarkSpec) { spec.PriorityClassName = b.class }))
	}
	reserved := l.share(t, "sharing-c", "in-time", func(spec *v1alpha1.BenchmarkSpec) {
		spec.ReservationName, spec.ActiveDeadlineSeconds = "hands-on", 600
	})
	done := l.finish(t, client.ObjectKeyFromObject(reserved))
	g.Expect(done.Status.TestBedName).To(Equal("shared-2"))
	for _, b := range queued {
		g.Expect(l.benchmark(g, client.ObjectKeyFromObject(b)).Status.TestBedName).To(BeEmpty(), "no other benchmark has the reserved bed")
	}

	l.kubectlMust(t, "nodrop", "uncordon", "shared-1")
	var order []string
	for _, b := range queued {
		done := l.finish(t, client.ObjectKeyFromObject(b))
		g.Expect(done.Status.TestBedName).To(Equal("shared-1"))
		*b = *done
	}
	slices.SortFunc(queued, func(x, y *v1alpha1.Benchmark) int { return x.Status.StartTime.Compare(y.Status.StartTime.Time) })
	for _, b := range queued {
		order = append(order, b.Namespace+"/"+b.Name)
	}
	g.Expect(order).To(Equal(want))

	err := l.Create(t.Context(), sharedBenchmark("sharing-d", "refused"))
	g.Expect(err).To(MatchError(And(ContainSubstring("allows namespace sharing-d"),
		ContainSubstring("ask the bed's owner to add this to spec.access: {names: [sharing-d], maxDuration: 24h}"))))
	g.Eventually(func(g Gomega) {
		var policy v1alpha1.LabPolicy
		g.Expect(l.Get(t.Context(), client.ObjectKey{Name: v1alpha1.LabPolicyName}, &policy)).To(Succeed())
		g.Expect(policy.Status.Teams).To(ContainElements(HaveField("Name", "a"), HaveField("Name", "b"), HaveField("Name", "namespace/sharing-c")))
	}, 2*time.Minute, poll).Should(Succeed())
}

// kubectlMust runs a command of kubectl that has to succeed.
func (l *lab) kubectlMust(t *testing.T, args ...string) {
	t.Helper()
	if out, err := l.kubectl(t, "", args...); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// sharedBenchmark can use both shared beds.
func sharedBenchmark(namespace, name string) *v1alpha1.Benchmark {
	return objects.Benchmark(namespace, name,
		objects.BedLabels(map[string]string{"sharing": "yes"}), objects.ProfileName("shared"),
		objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{})),
	)
}

// share creates a benchmark that can use both shared beds.
func (l *lab) share(t *testing.T, namespace, name string, change func(*v1alpha1.BenchmarkSpec)) *v1alpha1.Benchmark {
	t.Helper()
	b := sharedBenchmark(namespace, name)
	change(&b.Spec)
	if err := l.Create(t.Context(), b); err != nil {
		t.Fatalf("creating benchmark %s: %v", name, err)
	}
	t.Cleanup(func() { l.remove(t, b) })
	return b
}

// sharedBeds makes two beds, four namespaces of which three may use them, and the LabPolicy.
func (l *lab) sharedBeds(t *testing.T) {
	t.Helper()
	var text strings.Builder
	text.WriteString(`
apiVersion: nodrop.dev/v1alpha1
kind: LabPolicy
metadata: {name: lab}
spec:
  teams:
  - {name: a, namespaces: [sharing-a]}
  - {name: b, namespaces: [sharing-b]}
  priorityClasses:
  - {name: soon, value: 50}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shared-model, namespace: nodrop-lab}
data:
  device.csv: |
    frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us
    64,69.6875,1.510,2.377,4.240
`)
	for _, namespace := range []string{"sharing-a", "sharing-b", "sharing-c", "sharing-d"} {
		fmt.Fprintf(&text, `---
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: shared, namespace: %[1]s}
spec:
  frameSizes: [64]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`, namespace)
	}
	for _, bed := range []string{"shared-1", "shared-2"} {
		fmt.Fprintf(&text, `---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: %s, labels: {sharing: "yes"}}
spec:
  device: {simulated: {model: {configMapRef: {name: shared-model, key: device.csv}}}}
  engine: {kind: sim, sim: {ports: {count: 2, speed: 10G}}}
  access:
  - {names: [sharing-a, sharing-b, sharing-c], maxPriority: 50, maxDuration: 24h}
`, bed)
	}
	if out, err := l.kubectl(t, text.String(), "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		for _, o := range []client.Object{
			&v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}},
			objects.TestBed("shared-1"), objects.TestBed("shared-2"),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sharing-a"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sharing-b"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sharing-c"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sharing-d"}},
		} {
			l.discard(t, o)
		}
	})
	l.awaitBeds(t, "sharing", 2)
}
