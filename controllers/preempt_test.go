package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestPreemption takes beds away from benchmarks, as the allocator asks for them.
func TestPreemption(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"finished rows are kept and none is measured again": preemptedWithRows,
		"resumes on the same bed only":                      resumesOnItsBed,
		"before a row any bed will do":                      preemptedWithoutRows,
		"twice":                                             preemptedTwice,
		"in the second variant":                             preemptedInVariant,
		"not preemptible":                                   notPreemptible,
		"done when it is asked":                             doneWhenPreempted,
		"aborted while the bed is cleaned up":               abortedWhilePreempted,
		"aborted while it waits again":                      abortedAfterPreemption,
		"deleted while the bed is cleaned up":               deletedWhilePreempted,
		"the operator ends while the bed is cleaned up":     restartedWhilePreempted,
		"the bed cannot be cleaned up":                      preemptedWithoutCleanUp,
		"the bed changed meanwhile":                         bedChangedMeanwhile,
		"the environment is another one":                    environmentChanged,
		"the bed does not fit any more":                     bedDoesNotFit,
		"the deadline adds up the runs":                     deadlineOfAllRuns,
		"late objects of the first run":                     lateObjects,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// lateObjects has an operator that was replaced ask for a pod of the first run after the second
// has begun: the pod is removed, and the second run goes on.
func lateObjects(w *world) {
	w.with()
	w.modelledBed()
	create(w.t, w.c, benchmark("b", "sim", preemptible))
	first := labobjects.Run{UID: string(w.preemptedAt("sim").UID)}
	w.urgentEnds()
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.beginsWith(b, 1)
	late := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: first.RunnerName(), Labels: first.Selector()},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "late", Image: "localhost/late:1"}}},
	}
	create(w.t, w.c, late)
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(late), late))
	}).Should(BeTrue(), "pod %s was not removed", late.Name)
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

func preemptible(b *v1alpha1.Benchmark) { b.Spec.Preemptible = true }

// preempt asks for a bed, as the allocator does.
func (w *world) preempt(bed string) {
	w.t.Helper()
	w.Eventually(func() error {
		b := w.bed(bed)
		before := b.DeepCopy()
		b.Status.Lease.Preemption = &v1alpha1.Preemption{By: team + "/urgent", Time: metav1.Now()}
		return w.c.Status().Patch(w.t.Context(), b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}).Should(Succeed())
}

func (w *world) abort(name string) {
	w.t.Helper()
	w.Eventually(func() error {
		b := w.benchmark(name)
		b.Spec.Abort = true
		return w.c.Update(w.t.Context(), b)
	}).Should(Succeed())
}

// inEnvironment is the state of a runner that reports where it measures.
func inEnvironment(s runner.State) runner.State {
	s.Environment = measured().Environment
	return s
}

// preemptedAt has "b" measure the row of 64 bytes on a bed, which it returns to "urgent".
func (w *world) preemptedAt(bed string) *v1alpha1.Benchmark {
	w.t.Helper()
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, inEnvironment(measuring(row(64))))
	w.Eventually(func() int { return len(w.rows(w.benchmark("b"))) }).Should(Equal(1))
	create(w.t, w.c, benchmark("urgent", bed, objects.Priority(100), objects.Deadline(86400)))
	w.says("urgent", v1alpha1.ConditionBedLeased, v1alpha1.ReasonQueued)
	w.preempt(bed)
	w.reaches("urgent", v1alpha1.PhaseRunning)
	w.says("b", v1alpha1.ConditionBedLeased, v1alpha1.ReasonPreempted)
	return w.benchmark("b")
}

// urgentEnds ends the benchmark in whose favor the bed was taken away.
func (w *world) urgentEnds() {
	w.t.Helper()
	w.runners.report(w.benchmark("urgent"), measured(row(64), row(128)))
	w.reaches("urgent", v1alpha1.PhaseMeasured)
}

// resumes waits until "b" measures again, with so many rows that it need not measure, and
// lets it finish.
func (w *world) resumes(rows int) *v1alpha1.Benchmark {
	w.t.Helper()
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.beginsWith(b, rows)
	w.runners.report(b, measured(row(64), row(128)))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	result := w.stored(b)
	w.Expect(result.Rows).To(HaveLen(2))
	w.Expect(result.Rows[0].FrameSize).To(Equal(int32(64)))
	w.Expect(result.Complete).To(BeTrue())
	w.Expect(result.Digest).To(Equal(b.Status.Results.Digest))
	return b
}

func preemptedWithRows(w *world) {
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr", preemptible))
	b := w.preemptedAt("frr")
	w.Expect(b.Status.Preemptions).To(Equal(int32(1)))
	w.Expect(b.Status.Resumption).To(Equal(&v1alpha1.Resumption{TestBedName: "frr", Rows: 1}))
	w.Expect(b.Status.EarlierRuns).To(HaveLen(1))
	w.Expect(b.Status.EarlierRuns[0]).To(And(HaveField("TestBedName", "frr"), HaveField("Rows", int32(1)), HaveField("By", "team-routing/urgent")))
	w.Expect(b.Status.EarlierRuns[0].From.Time).To(BeTemporally("==", b.Status.StartTime.Time))
	w.Expect(b.Status.TestBedName).To(BeEmpty())
	w.Expect(b.Status.Preemption).To(BeNil())
	w.Eventually(func() string { return w.benchmark("b").Status.Message }).Should(Equal(
		"the benchmark was preempted in favor of team-routing/urgent; 1 finished row is kept, and it resumes on bed frr; waits for bed frr; kubectl nodrop queue shows its place, and when it is expected to start"))
	w.Expect(w.pod("b", "runner")).To(BeNil())
	w.urgentEnds()
	began := b.Status.StartTime
	b = w.resumes(1)
	w.Expect(b.Status.StartTime).To(Equal(began))
	w.Expect(b.Status.LeaseTime.Time).NotTo(BeTemporally("<", b.Status.EarlierRuns[0].Until.Time))
	w.Expect(b.Status.Preemptions).To(Equal(int32(1)))
	w.bedIsClean("frr")
}

func resumesOnItsBed(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("aaa"), profile(), benchmark("b", "", bySelector, preemptible))
	w.reaches("b", v1alpha1.PhaseRunning)
	create(w.t, w.c, modelled("bbb"))
	w.preemptedAt("aaa")
	create(w.t, w.c, benchmark("other", "", bySelector))
	w.reaches("other", v1alpha1.PhaseRunning)
	w.Expect(w.bed("bbb").Status.Lease.Holder).To(Equal("team-routing/other"), "the benchmark that came last has the bed that was free all the time")
	w.urgentEnds()
	w.Expect(w.resumes(1).Status.TestBedName).To(Equal("aaa"))
}

func preemptedWithoutRows(w *world) {
	w.kubelet.hold("runner")
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("aaa"), profile(), benchmark("b", "", bySelector, preemptible))
	w.appears("b", "runner")
	create(w.t, w.c, benchmark("urgent", "aaa", objects.Priority(100)), modelled("bbb"))
	w.preempt("aaa")
	w.appears("urgent", "runner")
	w.Eventually(func() string { return w.benchmark("b").Status.TestBedName }).Should(Equal("bbb"))
	w.Expect(w.benchmark("b").Status.Resumption).To(BeNil())
	w.kubelet.release(w)
	b := w.resumes(0)
	w.Expect(b.Status.Preemptions).To(Equal(int32(1)))
	w.Expect(b.Status.StartTime.Time).NotTo(BeTemporally("<", b.Status.EarlierRuns[0].Until.Truncate(time.Second)))
}

func preemptedTwice(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", preemptible))
	w.preemptedAt("sim")
	w.urgentEnds()
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.beginsWith(b, 1)
	w.preempt("sim")
	w.Eventually(func() int32 { return w.benchmark("b").Status.Preemptions }).Should(Equal(int32(2)))
	b = w.resumes(1)
	w.Expect(b.Status.EarlierRuns).To(HaveLen(2))
	w.Expect(b.Status.EarlierRuns[1].Rows).To(BeZero())
	w.bedIsClean("sim")
}

func preemptedInVariant(w *world) {
	const first, second = "off", "on"
	create(w.t, w.c, configMap("model", "model.csv", modelOff), configMap("model-on", "model.csv", modelOn), modelledInTwo(), profile(),
		benchmark("b", "sim", preemptible, withVariants(first, second)))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.beginsWith(b, 0)
	w.kubelet.hold("runner")
	w.runners.report(b, measured(rowOf(first, 64), rowOf(first, 128)))
	w.Eventually(func() v1alpha1.VariantName { return w.benchmark("b").Status.Variant }).Should(BeEquivalentTo(second))
	w.runners.report(b, measuring(rowOf(first, 64), rowOf(first, 128)))
	w.letGo("b", "runner")
	w.beginsWith(b, 2)
	w.runners.report(b, measuring(rowOf(first, 64), rowOf(first, 128), rowOf(second, 64)))
	w.Eventually(func() int { return len(w.rows(w.benchmark("b"))) }).Should(Equal(3))
	w.preempt("sim")
	w.Eventually(func() *v1alpha1.Resumption { return w.benchmark("b").Status.Resumption }).Should(Equal(
		&v1alpha1.Resumption{TestBedName: "sim", Variant: second, Rows: 3}))
	w.beginsWith(b, 3)
	w.Expect(w.runnerConfig("b").Variant).To(BeEquivalentTo(second))
	w.runners.report(b, measured(rowOf(first, 64), rowOf(first, 128), rowOf(second, 64), rowOf(second, 128)))
	w.Expect(w.rows(w.reaches("b", v1alpha1.PhaseMeasured))).To(HaveLen(4))
	w.bedIsClean("sim")
}

func notPreemptible(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.preempt("sim")
	w.runners.report(b, measuring(row(64)))
	w.Eventually(func() int { return len(w.rows(w.benchmark("b"))) }).Should(Equal(1))
	w.runners.report(b, measured(row(64), row(128)))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(b.Status.Preemptions).To(BeZero())
	w.Expect(w.rows(b)).To(HaveLen(2))
	w.bedIsClean("sim")
}

func doneWhenPreempted(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", preemptible))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.beginsWith(b, 0)
	w.stop()
	w.preempt("sim")
	w.runners.report(b, measured(row(64), row(128)))
	w.start()
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(b.Status.Preemptions).To(BeZero())
	w.Expect(w.rows(b)).To(HaveLen(2))
	w.bedIsClean("sim")
}

// preemptedAndHeld has "b" return its bed, whose device does not stop yet.
func (w *world) preemptedAndHeld() {
	w.t.Helper()
	w.kubelet.hold("device-down")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr", preemptible))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, inEnvironment(measuring(row(64))))
	w.Eventually(func() int { return len(w.rows(w.benchmark("b"))) }).Should(Equal(1))
	w.preempt("frr")
	w.appears("b", "device-down")
	b = w.reaches("b", v1alpha1.PhaseCleaningUp)
	w.Expect(b.Status.Preemption.By).To(Equal("team-routing/urgent"))
	w.Expect(b.Status.Outcome).To(BeEmpty())
}

func abortedWhilePreempted(w *world) {
	w.preemptedAndHeld()
	w.abort("b")
	w.Eventually(func() v1alpha1.BenchmarkPhase { return w.benchmark("b").Status.Outcome }).Should(Equal(v1alpha1.PhaseAborted))
	w.letGo("b", "device-down")
	b := w.reaches("b", v1alpha1.PhaseAborted)
	w.Expect(b.Status.Message).To(Equal("spec.abort was set; 1 finished row is kept"))
	w.Expect(b.Status.Preemption).To(BeNil())
	w.Expect(w.stored(b).Complete).To(BeTrue())
	w.bedIsClean("frr")
}

func abortedAfterPreemption(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", preemptible))
	w.preemptedAt("sim")
	w.abort("b")
	b := w.reaches("b", v1alpha1.PhaseAborted)
	w.Expect(b.Status.Message).To(Equal("spec.abort was set; 1 finished row is kept"))
	w.Expect(w.stored(b).Complete).To(BeTrue())
	w.Expect(w.stored(b).Rows).To(HaveLen(1))
	w.Expect(w.says("b", v1alpha1.ConditionBedLeased, v1alpha1.ReasonEnded).Message).To(Equal("the benchmark ended before it had a bed again"))
	w.urgentEnds()
	w.bedIsClean("sim")
}

func deletedWhilePreempted(w *world) {
	w.preemptedAndHeld()
	b := w.benchmark("b")
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.letGoOf(b, "device-down")
	w.Eventually(func() error {
		return w.c.Get(w.t.Context(), client.ObjectKeyFromObject(b), &v1alpha1.Benchmark{})
	}).Should(MatchError(ContainSubstring("not found")))
	w.bedIsCleanEventually("frr")
}

func restartedWhilePreempted(w *world) {
	w.preemptedAndHeld()
	w.stop()
	w.letGo("b", "device-down")
	w.start()
	b := w.resumes(1)
	w.Expect(b.Status.Preemptions).To(Equal(int32(1)))
	w.bedIsClean("frr")
}

func preemptedWithoutCleanUp(w *world) {
	w.preemptedAndHeld()
	w.impatient(shortCleanUp)
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("and the bed was not cleaned up"))
	w.Expect(w.stored(b).Rows).To(HaveLen(1))
	w.Expect(w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonCleanUpFailed).Message).To(ContainSubstring("bed frr is quarantined"))
}

func bedChangedMeanwhile(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", preemptible))
	w.preemptedAt("sim")
	w.Eventually(func() error {
		bed := w.bed("sim")
		bed.Spec.Ports[0].Addresses = []string{"198.18.1.3/24"}
		return w.c.Update(w.t.Context(), bed)
	}).Should(Succeed())
	w.urgentEnds()
	w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("b").Bed.Spec.Ports[0].Addresses).To(Equal([]string{"198.18.1.3/24"}))
	b := w.resumes(0)
	w.Expect(b.Status.EarlierRuns).To(HaveLen(1))
	w.Expect(b.Status.EarlierRuns[0].Discarded).To(Equal("spec.ports of the bed changed since the 1 finished rows were measured"))
	w.Expect(b.Status.Results.Rows).To(Equal(int32(2)))
	w.bedIsClean("sim")
}

func environmentChanged(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", preemptible))
	b := w.preemptedAt("sim")
	other := inEnvironment(measuring(row(64), row(128)))
	other.Environment = &v1alpha1.ResultEnvironment{NoDropVersion: "other", Engine: v1alpha1.EngineSim}
	w.runners.report(b, other)
	w.urgentEnds()
	w.Eventually(func() *v1alpha1.Resumption { return w.benchmark("b").Status.Resumption }).Should(BeNil())
	w.beginsWith(b, 0)
	other.Done, other.Outcome, other.Reason, other.Message = true, v1alpha1.PhaseMeasured, v1alpha1.ReasonAllMeasured, "all rows were measured"
	w.runners.report(b, other)
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(b.Status.EarlierRuns[0].Discarded).To(ContainSubstring("the version of NoDrop changed"))
	result := w.stored(b)
	w.Expect(result.Rows).To(HaveLen(2))
	w.Expect(result.Environment.NoDropVersion).To(Equal("other"))
	w.bedIsClean("sim")
}

func bedDoesNotFit(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("aaa"), profile(), benchmark("b", "", bySelector, preemptible))
	w.reaches("b", v1alpha1.PhaseRunning)
	create(w.t, w.c, modelled("bbb"))
	w.preemptedAt("aaa")
	w.Eventually(func() error {
		bed := w.bed("aaa")
		bed.Labels = nil
		return w.c.Update(w.t.Context(), bed)
	}).Should(Succeed())
	w.Expect(w.says("b", v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted).Message).To(HavePrefix(
		"bed aaa does not fit the benchmark any more, or is gone, and the benchmark was preempted in favor of team-routing/urgent; 1 finished row is kept"))
	w.abort("b")
	w.Expect(w.stored(w.reaches("b", v1alpha1.PhaseAborted)).Rows).To(HaveLen(1))
}

func deadlineOfAllRuns(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", preemptible))
	w.reaches("b", v1alpha1.PhaseRunning)
	w.pass(40 * time.Minute)
	w.Eventually(func() int64 { return w.benchmark("b").Status.ActiveSeconds }).Should(BeNumerically(">=", 2400))
	b := w.preemptedAt("sim")
	w.Expect(b.Status.ActiveSeconds).To(BeNumerically("~", 2400, 300))
	w.pass(10 * time.Hour)
	w.urgentEnds()
	b = w.reaches("b", v1alpha1.PhaseRunning)
	w.beginsWith(b, 1)
	w.pass(30 * time.Minute)
	b = w.reaches("b", v1alpha1.PhaseInvalid)
	w.Expect(b.Status.Message).To(ContainSubstring("spec.activeDeadlineSeconds, 3600"))
	w.Expect(w.stored(b).Rows).To(HaveLen(1))
	w.bedIsClean("sim")
}
