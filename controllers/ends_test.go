package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// stage is a point in the life of a benchmark "b" on the virtual bed "frr".
type stage struct {
	// held keeps the life from continuing beyond the point.
	held string
	// reached waits for the point.
	reached func(*world)
}

var stages = map[string]stage{
	"queued":             {reached: func(w *world) { w.reaches("b", v1alpha1.PhaseQueued) }},
	"device is started":  {held: "device-up", reached: func(w *world) { w.appears("b", "device-up") }},
	"agents are started": {held: "agent-0", reached: func(w *world) { w.appears("b", "agent-0") }},
	"runner is started":  {held: "runner", reached: func(w *world) { w.appears("b", "runner") }},
	"measuring":          {reached: func(w *world) { w.reaches("b", v1alpha1.PhaseRunning) }},
}

// at brings a benchmark to a stage.
func (w *world) at(name string) {
	w.t.Helper()
	s := stages[name]
	w.kubelet.hold(s.held)
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile())
	if name == "queued" {
		create(w.t, w.c, benchmark("other", "frr"))
		w.reaches("other", v1alpha1.PhaseRunning)
	}
	create(w.t, w.c, benchmark("b", "frr"))
	s.reached(w)
}

// clean checks that nothing of "b" is left.
func (w *world) clean(stage string) {
	w.t.Helper()
	if stage == "queued" {
		w.Expect(w.bed("frr").Status.Lease.Holder).To(Equal("team-routing/other"))
		return
	}
	w.bedIsClean("frr")
}

// TestAbort aborts benchmarks at every stage.
func TestAbort(t *testing.T) {
	server := startServer(t)
	for name := range stages {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, server)
			w.at(name)
			if name == "measuring" {
				w.beginsWith(w.benchmark("b"), 0)
				w.runners.report(w.benchmark("b"), measuring(row(64)))
			}
			w.Eventually(func() error {
				b := w.benchmark("b")
				b.Spec.Abort = true
				return w.c.Update(t.Context(), b)
			}).Should(Succeed())
			b := w.reaches("b", v1alpha1.PhaseAborted)
			w.Expect(b.Status.Message).To(ContainSubstring("spec.abort was set"))
			if name == "measuring" {
				w.Expect(w.rows(b)).To(HaveLen(1), "rows known at the last poll")
			}
			w.clean(name)
		})
	}
}

// TestDeletion deletes benchmarks at every stage.
func TestDeletion(t *testing.T) {
	server := startServer(t)
	for name := range stages {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, server)
			w.at(name)
			b := w.benchmark("b")
			w.Expect(w.c.Delete(t.Context(), b)).To(Succeed())
			w.Eventually(func() bool {
				return apierrors.IsNotFound(w.c.Get(t.Context(), client.ObjectKeyFromObject(b), b))
			}).Should(BeTrue(), "the benchmark is gone")
			if name != "queued" {
				w.bedIsCleanEventually("frr")
			}
			w.clean(name)
		})
	}
}

// TestCleanUp has clean-ups that fail, and leases whose holder is gone.
func TestCleanUp(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a device that does not stop":      quarantine,
		"a benchmark removed by force":     orphan,
		"an orphan that does not clean up": orphanQuarantine,
		"deleted while cleaning up":        deletedCleaningUp,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func (w *world) quarantined() *metav1.Condition {
	c := meta.FindStatusCondition(w.bed("frr").Status.Conditions, v1alpha1.ConditionQuarantined)
	if c == nil {
		return &metav1.Condition{}
	}
	return c
}

func (w *world) releaseQuarantine(name string) {
	w.t.Helper()
	w.Eventually(func() error {
		bed := w.bed(name)
		metav1.SetMetaDataAnnotation(&bed.ObjectMeta, v1alpha1.AnnotationReleaseQuarantine, "yes")
		return w.c.Update(w.t.Context(), bed)
	}).Should(Succeed())
}

func quarantine(w *world) {
	w.kubelet.hold("device-down")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	down := w.appears("b", "device-down")
	down.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:                 "device",
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "cannot reach the docker daemon"}},
	}}
	w.Expect(w.c.Status().Update(w.t.Context(), down)).To(Succeed())
	w.Eventually(func() string { return w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonCleaningUp).Message }).
		Should(ContainSubstring("cannot reach the docker daemon"))
	w.impatient(shortCleanUp)
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(b.Status.Message).To(Equal("all rows were measured"))
	w.Expect(w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonCleanUpFailed).Message).To(And(
		ContainSubstring("bed frr is quarantined: not cleaned up by "),
		ContainSubstring("cannot reach the docker daemon")))
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.Expect(w.quarantined().Status).To(Equal(metav1.ConditionTrue))
	w.Expect(w.bed("frr").Status.Lease).NotTo(BeNil(), "the lease shows which benchmark left something behind")

	create(w.t, w.c, benchmark("next", "frr"))
	w.Eventually(func() string { return w.benchmark("next").Status.Message }).Should(ContainSubstring("the bed is quarantined"))
	w.counted(1, "nodrop_bed_quarantines_total", "bed", "frr")
	w.counted(1, "nodrop_clean_ups_total", "result", "failed")
	w.counted(1, "nodrop_bed_quarantined", "bed", "frr")
	w.counted(0, "nodrop_bed_ready", "bed", "frr")
	w.counted(1, "nodrop_bed_waiting_benchmarks", "bed", "frr")

	w.releaseQuarantine("frr")
	w.letGo("b", "device-down")
	w.Eventually(func() metav1.ConditionStatus { return w.quarantined().Status }).Should(BeEmpty())
	w.Eventually(func() map[string]string { return w.bed("frr").Annotations }).ShouldNot(HaveKey(v1alpha1.AnnotationReleaseQuarantine))
	next := w.reaches("next", v1alpha1.PhaseRunning)
	w.runners.report(next, measured(row(64)))
	w.reaches("next", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
	// That of the bed that was released, and that of next.
	w.counted(2, "nodrop_clean_ups_total", "result", "done")
}

// force removes a benchmark without its finalizers.
func (w *world) force(name string) {
	w.t.Helper()
	w.Eventually(func() error {
		b := w.benchmark(name)
		b.Finalizers = nil
		return w.c.Update(w.t.Context(), b)
	}).Should(Succeed())
	w.Expect(client.IgnoreNotFound(w.c.Delete(w.t.Context(), benchmark(name, "frr")))).To(Succeed())
}

func orphan(w *world) {
	w.at("measuring")
	w.stop()
	w.force("b")
	w.Expect(w.leftovers()).NotTo(BeEmpty())
	w.start()
	w.bedIsCleanEventually("frr")
}

func orphanQuarantine(w *world) {
	w.at("measuring")
	w.stop()
	w.force("b")
	w.kubelet.hold("device-down")
	w.start()
	w.Eventually(func() metav1.ConditionStatus { return w.quarantined().Status }).Should(Equal(metav1.ConditionUnknown))
	w.impatient(shortCleanUp)
	w.Eventually(func() metav1.ConditionStatus { return w.quarantined().Status }).Should(Equal(metav1.ConditionTrue))
	w.Expect(w.quarantined().Message).To(ContainSubstring("after benchmark team-routing/b"))
	w.counted(1, "nodrop_bed_quarantines_total", "bed", "frr")
	w.Expect(w.bed("frr").Status.Lease).NotTo(BeNil())
}

func deletedCleaningUp(w *world) {
	w.kubelet.hold("device-down")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	w.appears("b", "device-down")
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.letGoOf(b, "device-down")
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(b), b))
	}).Should(BeTrue(), "the benchmark is gone")
	w.bedIsCleanEventually("frr")
}
