//go:build e2e

package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestPreemption takes the router away from a benchmark that has finished rows: the urgent
// one measures, and the other resumes on the router made anew, with every row once. A
// priority class of the LabPolicy asks for it.
func TestPreemption(t *testing.T) {
	long(t)
	together(t)
	alone(t, &theRouter)
	alone(t, &thePolicy)
	l, g := newLab(t), NewWithT(t)
	edits := append([]string{"  testBedName:", "  preemptible: true\n  testBedName:"}, shortTrials...)
	policy := &v1alpha1.LabPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName},
		Spec:       v1alpha1.LabPolicySpec{PriorityClasses: []v1alpha1.PriorityClass{{Name: "urgent", Value: 10, Preempts: true}}},
	}
	g.Expect(l.Create(t.Context(), policy)).To(Succeed())
	t.Cleanup(func() { g.Expect(client.IgnoreNotFound(l.Delete(context.Background(), policy))).To(Succeed()) })
	key := l.create(t, "preempted", edits...)
	l.inPhase(t, key, v1alpha1.PhaseRunning, 2)
	one := append([]string{"  testBedName:", "  priorityClassName: urgent\n  testBedName:", "trafficProfileName: ipv4-pairs", "trafficProfileName: " + l.oneSize(t)}, shortTrials...)
	urgent := l.create(t, "urgent", one...)

	l.inPhase(t, urgent, v1alpha1.PhaseRunning, 0)
	b := l.benchmark(g, key)
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseQueued), b.Status.Message)
	g.Expect(b.Status.Message).To(And(ContainSubstring("was preempted in favor of "+urgent.String()), ContainSubstring("it resumes on bed "+bedName)))
	g.Expect(b.Status.EarlierRuns).To(HaveLen(1))
	rows := l.rows(t, b)
	g.Expect(rows).To(HaveLen(int(b.Status.Resumption.Rows)))
	g.Expect(len(rows)).To(And(BeNumerically(">=", 2), BeNumerically("<", rowsOfSample)))
	first := l.environment(t, b)

	u := l.finish(t, urgent)
	expectAllMeasured(g, u)
	g.Expect(l.rows(t, u)).To(HaveLen(rowsOfSample / sizesOfSample))
	b = l.finish(t, key)
	expectAllMeasured(g, b)
	g.Expect(b.Status.Preemptions).To(Equal(int32(1)))
	g.Expect(b.Status.EarlierRuns[0].Discarded).To(BeEmpty(), "%v and %v", first, l.environment(t, b))
	all := l.rows(t, b)
	g.Expect(all).To(HaveLen(rowsOfSample))
	g.Expect(duplicateRows(all)).To(BeEmpty())
	g.Expect(all).To(ContainElements(rows), "rows that were finished before")
	g.Expect(l.nodrop(t, "report", key.Name, "-n", key.Namespace)).To(ContainSubstring("the benchmark was preempted 1 time: "))
	l.expectClean(t, b)
}
