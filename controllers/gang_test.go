package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestGang has benchmarks get their beds together.
func TestGang(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"none gets a bed until all can":            gangWaitsForAll,
		"a member is not there yet":                gangIncomplete,
		"beds that only some have are returned":    gangPart,
		"one that comes late gets a bed by itself": gangLate,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func inGang(role string) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.Gang = &v1alpha1.Gang{Name: "ring", Role: role, Members: 2} }
}

// holderOf returns a function that returns the holder of a bed; empty if the bed is free.
func (w *world) holderOf(bed string) func() string {
	return func() string {
		if l := w.bed(bed).Status.Lease; l != nil {
			return l.Holder
		}
		return ""
	}
}

func gangWaitsForAll(w *world) {
	w.twoBeds()
	create(w.t, w.c, benchmark("busy", "two"))
	w.reaches("busy", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("left", "one", inGang("left")), benchmark("right", "two", inGang("right")))
	w.Expect(w.says("left", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued).Message).NotTo(BeEmpty())
	w.Eventually(func() string {
		return w.says("left", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued).Message
	}).Should(ContainSubstring("gang ring gets its 2 beds at once; this member waits for bed one"))
	create(w.t, w.c, benchmark("then", "one"))
	w.waitsBecause(named("then"), v1alpha1.ReasonQueued, "1 benchmark comes first")
	w.Expect(w.holderOf("one")()).To(BeEmpty(), "the bed is kept for the gang")

	w.runners.report(w.benchmark("busy"), measured(row(64), row(128)))
	w.reaches("left", v1alpha1.PhaseRunning)
	w.reaches("right", v1alpha1.PhaseRunning)
	for _, name := range []string{"left", "right"} {
		w.runners.report(w.benchmark(name), measured(row(64), row(128)))
		w.reaches(name, v1alpha1.PhaseMeasured)
	}
	w.reaches("then", v1alpha1.PhaseRunning)
}

func gangIncomplete(w *world) {
	w.twoBeds()
	create(w.t, w.c, benchmark("left", "one", inGang("left")))
	c := w.says("left", v1alpha1.ConditionBedLeased, v1alpha1.ReasonGangIncomplete)
	w.Expect(c.Message).To(Equal("gang ring has 1 of its 2 members ready to start (left): create the others, and see the status of those that are not ready"))
	create(w.t, w.c, benchmark("other", "one"))
	w.reaches("other", v1alpha1.PhaseRunning)
	w.runners.report(w.benchmark("other"), measured(row(64), row(128)))
	w.reaches("other", v1alpha1.PhaseMeasured)
	create(w.t, w.c, benchmark("right", "two", inGang("right")))
	w.reaches("left", v1alpha1.PhaseRunning)
	w.reaches("right", v1alpha1.PhaseRunning)
}

// gangPart makes what an operator leaves that ends between the leases of two members.
func gangPart(w *world) {
	w.twoBeds()
	create(w.t, w.c, benchmark("busy", "two"))
	w.reaches("busy", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("left", "one", inGang("left")), benchmark("right", "two", inGang("right")))
	left := w.benchmark("left")
	w.says("left", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.Eventually(func() error {
		bed := w.bed("one")
		before := bed.DeepCopy()
		bed.Status.Lease = &v1alpha1.BedLease{Holder: team + "/left", UID: string(left.UID), AcquireTime: metav1.Now()}
		return w.c.Status().Patch(w.t.Context(), bed, client.MergeFrom(before))
	}).Should(Succeed())
	w.Eventually(w.holderOf("one")).Should(BeEmpty())
	w.Expect(w.benchmark("left").Status.TestBedName).To(BeEmpty())

	w.runners.report(w.benchmark("busy"), measured(row(64), row(128)))
	w.reaches("left", v1alpha1.PhaseRunning)
	w.reaches("right", v1alpha1.PhaseRunning)
}

func gangLate(w *world) {
	w.twoBeds()
	create(w.t, w.c, benchmark("left", "one", inGang("left")), benchmark("right", "two", inGang("right")))
	w.reaches("left", v1alpha1.PhaseRunning)
	w.reaches("right", v1alpha1.PhaseRunning)
	w.abort("right")
	w.reaches("right", v1alpha1.PhaseAborted)
	create(w.t, w.c, benchmark("again", "two", inGang("right")))
	w.reaches("again", v1alpha1.PhaseRunning)
}
