//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestScheduleWithAFailingGate measures the image of the sample that is slower than the
// release, as a pipeline would: the gate fails, and exit code, conditions and event say so.
func TestScheduleWithAFailingGate(t *testing.T) {
	long(t) // TestNightly triggers the same schedule.
	l := newLab(t)
	g := NewWithT(t)
	l.apply(t, "config", "samples", "schedule", "lab.yaml")
	l.apply(t, "config", "samples", "schedule", "release.yaml")
	release := l.finish(t, client.ObjectKey{Namespace: teamNamespace, Name: "nightly-release"})
	g.Expect(release.Status.Phase).To(Equal(v1alpha1.PhaseMeasured), release.Status.Message)
	l.apply(t, "config", "samples", "schedule", "schedule.yaml")
	key := client.ObjectKey{Namespace: teamNamespace, Name: "nightly"}
	nightly := &v1alpha1.BenchmarkSchedule{}
	g.Eventually(func(g Gomega) {
		g.Expect(l.Get(t.Context(), key, nightly)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(nightly.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
		g.Expect(nightly.Status.NextScheduleTime).NotTo(BeNil())
	}, time.Minute, poll).Should(Succeed())

	name, err := l.kubectl(t, "", "nodrop", "trigger", "nightly", "-n", teamNamespace, "--cell", "image-candidate", "-o", "name")
	g.Expect(err).NotTo(HaveOccurred(), name)
	name = strings.TrimSpace(name)
	code, out := l.watch(t, name)
	g.Expect(code).To(Equal(2), out)
	g.Expect(out).To(ContainSubstring("as-the-release"))

	b := l.benchmark(g, client.ObjectKey{Namespace: teamNamespace, Name: name})
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseFailed))
	g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionGatesPassed)).To(And(
		HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonGateFailed), HaveField("Message", ContainSubstring("as-the-release"))))
	g.Eventually(func(g Gomega) {
		g.Expect(l.Get(t.Context(), key, nightly)).To(Succeed())
		g.Expect(meta.FindStatusCondition(nightly.Status.Conditions, v1alpha1.ConditionLastRunPassed)).To(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(name))))
		var events corev1.EventList
		g.Expect(l.List(t.Context(), &events, client.InNamespace(teamNamespace))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("InvolvedObject.UID", nightly.UID), HaveField("Reason", v1alpha1.EventRunFailed), HaveField("Message", ContainSubstring(name)))))
	}, time.Minute, poll).Should(Succeed())
	l.expectClean(t, b)

	// What it measured stays when the schedule is gone.
	g.Expect(l.Delete(t.Context(), nightly)).To(Succeed())
	g.Expect(l.rows(t, l.benchmark(g, client.ObjectKeyFromObject(b)))).NotTo(BeEmpty())
}

// watch follows a benchmark with kubectl nodrop watch, and returns its exit code and output.
func (l *lab) watch(t *testing.T, name string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "kubectl", "nodrop", "watch", name, "-n", teamNamespace)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("kubectl nodrop watch %s: %v\n%s", name, err, &out)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}
