//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestKueue has the real Kueue admit benchmarks that run in pods, with the rights of the chart
// and the quota of config/kueue: one bed. The first benchmark has the quota and waits for its
// bed, which is closed. The second waits for the quota while its own bed is free, and runs when
// the first has ended.
func TestKueue(t *testing.T) {
	long(t) // TestKueue of controllers has the real Kueue with the rights of the chart.
	l, g := newLab(t), NewWithT(t)
	l.runKueue(t)
	t.Cleanup(func() { l.helm(t, "kueue.enabled=false") })
	l.helm(t, "kueue.enabled=true")
	l.applyText(t, l.text(t, "config", "kueue", "queues.yaml"))
	l.applyText(t, l.text(t, "config", "samples", "gang", "lab.yaml"))
	l.applyText(t, kueueProfile)
	l.kubectlMust(t, "wait", "testbed", "pair-east", "pair-west", "--for=condition=Ready", "--timeout=50s")
	l.kubectlMust(t, "nodrop", "cordon", "pair-east")

	first := l.queueFor(t, "east")
	l.says(t, first, v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedUnschedulable)
	l.says(t, first, v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonQuotaReserved)
	second := l.queueFor(t, "west")
	message := l.says(t, second, v1alpha1.ConditionQuotaReserved, v1alpha1.ReasonWaitsForQuota)
	g.Expect(message).To(ContainSubstring("insufficient unused quota for nodrop.dev/bed"))
	l.says(t, second, v1alpha1.ConditionBedLeased, v1alpha1.ReasonWaitsForQuota)
	var bed v1alpha1.TestBed
	g.Expect(l.get(client.ObjectKey{Name: "pair-west"}, &bed, false)).To(Succeed())
	g.Expect(bed.Status.Queued).To(BeZero())
	g.Expect(bed.Status.Lease).To(BeNil())

	l.kubectlMust(t, "nodrop", "uncordon", "pair-east")
	done, next := l.finish(t, first), l.finish(t, second)
	for _, b := range []*v1alpha1.Benchmark{done, next} {
		g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseMeasured), b.Status.Message)
		g.Expect(l.rows(t, b)).To(HaveLen(1))
		l.expectClean(t, b)
	}
	g.Expect(next.Status.StartTime.Time).NotTo(BeTemporally("<", done.Status.CompletionTime.Time))
	l.kubectlMust(t, "wait", "workload", "--all", "-n", teamNamespace, "--for=condition=Finished", "--timeout=50s")
}

const kueueProfile = `
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: kueue, namespace: team-routing}
spec:
  frameSizes: [64]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`

// runKueue installs Kueue in the cluster, with its manager as a process of the node, and takes
// it away at the end.
func (l *lab) runKueue(t *testing.T) {
	t.Helper()
	kueue := testserver.NewKueue(t)
	env := &envtest.Environment{UseExistingCluster: ptr.To(true)}
	kueue.Install(t, env)
	env.CRDInstallOptions.CleanUpAfterUse = true
	t.Cleanup(func() {
		for _, c := range env.WebhookInstallOptions.MutatingWebhooks {
			l.discard(t, c)
		}
		for _, c := range env.WebhookInstallOptions.ValidatingWebhooks {
			l.discard(t, c)
		}
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	kueue.Run(t)
}

// discard deletes an object that may be gone.
func (l *lab) discard(t *testing.T, o client.Object) {
	t.Helper()
	if err := l.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// queueFor creates a benchmark in the queue of Kueue, for the bed of a site.
func (l *lab) queueFor(t *testing.T, site string) client.ObjectKey {
	t.Helper()
	b := objects.Benchmark(teamNamespace, "kueue-"+site,
		objects.Labels(map[string]string{v1alpha1.LabelQueueName: "beds"}), objects.BedLabels(map[string]string{"site": site}),
		objects.ProfileName("kueue"), objects.Deadline(600), objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{})),
	)
	if err := l.Create(t.Context(), b); err != nil {
		t.Fatalf("creating benchmark %s: %v", b.Name, err)
	}
	t.Cleanup(func() { l.remove(t, b) })
	return client.ObjectKeyFromObject(b)
}

// says waits for the reason of a condition of a benchmark, and returns its message.
func (l *lab) says(t *testing.T, key client.ObjectKey, condition, reason string) string {
	t.Helper()
	var message string
	NewWithT(t).Eventually(func(g Gomega) {
		c := meta.FindStatusCondition(l.benchmark(g, key).Status.Conditions, condition)
		g.Expect(c).To(HaveValue(HaveField("Reason", reason)), key.Name)
		message = c.Message
	}, time.Minute, poll).Should(Succeed())
	return message
}
