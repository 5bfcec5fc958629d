package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestMadeAnewFromGit deletes everything that people write, and makes it anew as from Git:
// results and history stay, nothing is measured again, and the next night is compared with the
// one before.
func TestMadeAnewFromGit(t *testing.T) {
	s3 := testserver.StartMinIO(t)
	w := newWorld(t, takeServer(t), func(w *world) { w.setClock("2027-01-01T01:59:00Z") })
	w.with(func(o *kit.Options) { o.Archive = w.openArchive(s3.URL("lab")) })
	git := func() []client.Object {
		return []client.Object{configMap("model", "model.csv", table), modelled("sim"), profile(),
			nightly(func(s *v1alpha1.BenchmarkScheduleSpec) {
				s.BenchmarkTemplate.Spec.Gates = []v1alpha1.Gate{relativeGate("as-before", v1alpha1.GateBaseline{BenchmarkName: "nightly"})}
			})}
	}
	night := func(name string, fps int64, phase v1alpha1.BenchmarkPhase) *v1alpha1.Benchmark {
		t.Helper()
		w.pass(2 * time.Minute)
		w.Eventually(func() error {
			return w.c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, &v1alpha1.Benchmark{})
		}).Should(Succeed())
		w.runners.report(w.reaches(name, v1alpha1.PhaseRunning), measured(rate(64, fps), rate(128, fps)))
		w.reaches(name, phase)
		w.archived(name)
		return w.benchmark(name)
	}
	scheduled := func() {
		t.Helper()
		w.Eventually(func() any {
			s := &v1alpha1.BenchmarkSchedule{}
			w.Expect(w.c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "nightly"}, s)).To(Succeed())
			return s.Status.NextScheduleTime
		}).ShouldNot(BeNil())
	}
	create(t, w.c, git()...)
	scheduled()
	first := night("nightly-20270101-0200", 1000, v1alpha1.PhaseInconclusive) // Nothing is before it.
	url, before := first.Status.Results.Archive.URL, s3.Versions()

	for _, o := range append(git(), first) {
		w.Expect(w.c.Delete(t.Context(), o)).To(Succeed())
		w.Eventually(func() bool { return apierrors.IsNotFound(w.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)) }).Should(BeTrue(), "%s", o.GetName())
	}
	w.Expect(w.readArchived(url).Rows).To(HaveLen(2))
	w.Expect(s3.Versions()).To(Equal(before), "objects of the archive, which were written once")

	for _, o := range git() {
		w.Eventually(func() error { return w.c.Create(t.Context(), o) }).Should(Succeed())
	}
	scheduled()
	w.pass(24*time.Hour - 3*time.Minute)
	second := night("nightly-20270102-0200", 900, v1alpha1.PhaseFailed)
	w.Expect(second.Status.Message).To(ContainSubstring("more than 1% below 1,000 frames/s of the baseline"))
	var all v1alpha1.BenchmarkList
	w.Expect(w.c.List(t.Context(), &all, client.InNamespace(team))).To(Succeed())
	w.Expect(all.Items).To(HaveLen(1), "the first night is not measured again")
}
