package admission_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// manyBytes makes benchmarks that need much memory, until the team has as many bytes as it may. The cache may be a little behind.
func manyBytes(s *server) {
	ctx := s.t.Context()
	policy := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}}
	policy.Spec.Teams = []v1alpha1.Team{{Name: "routing", Namespaces: []string{"team-routing"}, TeamShare: v1alpha1.TeamShare{MaxObjectsMiB: 1}}}
	s.Expect(s.c.Create(ctx, policy)).To(Succeed())
	s.Expect(policy.Spec.Others.MaxObjectsMiB).To(BeEquivalentTo(v1alpha1.DefaultMaxObjectsMiB))
	s.Expect(policy.Spec.MaxAllObjectsMiB).To(BeEquivalentTo(v1alpha1.DefaultMaxAllObjectsMiB))
	profile := &v1alpha1.TrafficProfile{}
	s.Expect(s.c.Get(ctx, client.ObjectKey{Namespace: "team-routing", Name: s.sampleBenchmark().Spec.TrafficProfileName}, profile)).To(Succeed())

	const most = 40
	var made []*v1alpha1.Benchmark
	var refusal error
	for i := range most {
		b := s.sampleBenchmark()
		b.ObjectMeta = metav1.ObjectMeta{Name: fmt.Sprint("dense-", i), Namespace: "team-routing"}
		b.Spec.Abort, b.Spec.Gates = false, nil
		for j := range 32 {
			b.Spec.Gates = append(b.Spec.Gates, denseGate(j, b.Spec.Tests[0].Name))
		}
		if refusal = s.c.Create(ctx, b); refusal != nil {
			break
		}
		made = append(made, b)
	}
	s.Expect(refusal).To(MatchError(And(
		MatchRegexp(`metadata.namespace: Forbidden: the objects of team routing of namespace team-routing have \d+ bytes as JSON, with status and without annotations; with another \d+ they would have \d+, and may have 1048576: `),
		ContainSubstring("delete finished benchmarks (ttlSecondsAfterFinished does so), use fewer labels, gates and selectors, or ask the lab for a higher maxObjectsMiB in LabPolicy lab"))))
	s.Expect(len(made)).To(BeNumerically(">=", 8), "1 MiB has 13 benchmarks of 80 kB")
	s.Expect(len(made)).To(BeNumerically("<", most))

	// Small profiles take what is left. Then a change that makes an object grow is refused, and the status can be written.
	fillers := 0
	for _, size := range []int{4000, 0} {
		s.Eventually(func() error {
			fillers++
			return s.c.Create(ctx, labelled(profile, fmt.Sprint("filler-", fillers), size))
		}, 20*time.Second).Should(MatchError(ContainSubstring("maxObjectsMiB")))
	}
	grown := labelled(profile, "filler-1", 7500)
	grown.ResourceVersion = s.current(grown).GetResourceVersion()
	s.Expect(s.c.Update(ctx, grown)).To(MatchError(And(ContainSubstring("metadata.namespace: Forbidden"), ContainSubstring("with another 3"), ContainSubstring("maxObjectsMiB"))))
	made[0].Status.Message = strings.Repeat("m", 1000)
	s.Expect(s.c.Status().Update(ctx, made[0])).To(Succeed(), "the operator writes the status")
	smaller := labelled(profile, "filler-1", 3000)
	smaller.ResourceVersion = grown.ResourceVersion
	s.Expect(s.c.Update(ctx, smaller)).To(Succeed())

	for _, b := range made {
		s.Expect(s.c.Delete(ctx, b)).To(Succeed())
	}
	s.Eventually(func() error {
		b := made[0].DeepCopy()
		b.ObjectMeta = metav1.ObjectMeta{Name: "dense-again", Namespace: "team-routing"}
		return s.c.Create(ctx, b, client.DryRunAll)
	}, 20*time.Second, 50*time.Millisecond).Should(Succeed(), "deleted benchmarks do not count")
	for i := range fillers {
		s.Expect(client.IgnoreNotFound(s.c.Delete(ctx, labelled(profile, fmt.Sprint("filler-", i+1), 0)))).To(Succeed())
	}
	s.Expect(s.c.Delete(ctx, policy)).To(Succeed())
}

// labelled returns a copy of a profile under another name, with labels of about so many bytes.
func labelled(p *v1alpha1.TrafficProfile, name string, bytes int) *v1alpha1.TrafficProfile {
	labels := map[string]string{}
	for i := range bytes / 100 {
		labels[fmt.Sprintf("l%0*d", 30, i)] = strings.Repeat("x", 63)
	}
	return &v1alpha1.TrafficProfile{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: labels}, Spec: p.Spec}
}

// current returns an object as the API server has it.
func (s *server) current(o client.Object) client.Object {
	there, ok := o.DeepCopyObject().(client.Object)
	s.Expect(ok).To(BeTrue())
	s.Expect(s.c.Get(s.t.Context(), client.ObjectKeyFromObject(o), there)).To(Succeed())
	return there
}

// denseGate needs four times as much memory as it has bytes.
func denseGate(i int, test string) v1alpha1.Gate {
	decrease := v1alpha1.Tolerance("5%")
	selector := &metav1.LabelSelector{}
	for range 16 {
		selector.MatchExpressions = append(selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpNotIn, Values: make([]string, 32)})
	}
	return v1alpha1.Gate{Name: fmt.Sprint("g", i), Test: test, Metric: "Throughput",
		Relative: &v1alpha1.RelativeBound{Baseline: v1alpha1.GateBaseline{BenchmarkSelector: selector}, MaxDecrease: &decrease}}
}
