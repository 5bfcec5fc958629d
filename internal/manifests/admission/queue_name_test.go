package admission_test

import (
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// namesAQueue has a namespace whose benchmarks have to name a queue of Kueue, for a while.
func namesAQueue(s *server) {
	sample := s.sampleBenchmark()
	benchmark := func(name string, labels map[string]string) *v1alpha1.Benchmark {
		return objects.Benchmark(sample.Namespace, name, objects.Labels(labels), objects.BenchmarkSpec(*sample.Spec.DeepCopy()))
	}
	queued := map[string]string{v1alpha1.LabelQueueName: "beds"}
	s.Expect(s.c.Create(s.t.Context(), benchmark("free", nil))).To(Succeed())

	ns := &corev1.Namespace{}
	s.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Name: sample.Namespace}, ns)).To(Succeed())
	ns.Labels["kueue-managed"] = "true"
	s.Expect(s.c.Update(s.t.Context(), ns)).To(Succeed())
	s.Expect(s.c.Create(s.t.Context(), benchmark("bypass", nil))).To(MatchError(ContainSubstring(
		"benchmarks of namespace team-routing are admitted by Kueue: name a LocalQueue of the namespace (kubectl get localqueues -n team-routing)")))
	b := benchmark("queued", queued)
	s.Expect(s.c.Create(s.t.Context(), b)).To(Succeed())
	b.Labels = nil
	s.Expect(s.c.Update(s.t.Context(), b)).To(MatchError(ContainSubstring(
		`the queue of a benchmark cannot be changed from "beds" to "" before it has ended: abort it, and apply it again under another name`)))
	b.Labels = map[string]string{v1alpha1.LabelQueueName: "beds", "pipeline": "nightly"}
	s.Expect(s.c.Update(s.t.Context(), b)).To(Succeed(), "other labels may change")

	delete(ns.Labels, "kueue-managed")
	s.Expect(s.c.Update(s.t.Context(), ns)).To(Succeed())
	s.Expect(s.c.Create(s.t.Context(), benchmark("free-again", nil))).To(Succeed())
}
