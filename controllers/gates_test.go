package controllers_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// TestGates judges gates on a real API server.
func TestGates(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"of their own bounds":             gatesOfTheirOwn,
		"relative to a benchmark":         gatesRelative,
		"relative to the history":         gatesOfTheTrend,
		"relative to a named history":     gatesOfANamedHistory,
		"while the archive is away":       gatesWithoutArchive,
		"of a benchmark that was aborted": gatesOfAborted,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func gated(gates ...v1alpha1.Gate) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.Gates = gates }
}

func rateGate(name string, min v1alpha1.GateBound) v1alpha1.Gate {
	return v1alpha1.Gate{Name: name, Test: "throughput", Metric: "Throughput", Min: min}
}

func relativeGate(name string, baseline v1alpha1.GateBaseline) v1alpha1.Gate {
	one := v1alpha1.Tolerance("1%")
	return v1alpha1.Gate{Name: name, Test: "throughput", Metric: "Throughput", Relative: &v1alpha1.RelativeBound{Baseline: baseline, MaxDecrease: &one}}
}

// ends measures a benchmark and waits for a phase.
func (w *world) ends(b *v1alpha1.Benchmark, phase v1alpha1.BenchmarkPhase, rows ...v1alpha1.ResultRow) *v1alpha1.Benchmark {
	w.t.Helper()
	create(w.t, w.c, b)
	w.runners.report(w.reaches(b.Name, v1alpha1.PhaseRunning), measured(rows...))
	return w.reaches(b.Name, phase)
}

// judgment of the result as reports show it.
func (w *world) judgement(b *v1alpha1.Benchmark) *gate.Judgement {
	w.t.Helper()
	content, err := stored.Content(w.t.Context(), w.c, b)
	w.Expect(err).NotTo(HaveOccurred())
	return report.New(content).Gates
}

// gatesPassed is the condition of the gates.
func gatesPassed(b *v1alpha1.Benchmark) *metav1.Condition {
	return meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionGatesPassed)
}

func gatesOfTheirOwn(w *world) {
	w.modelledBed()
	b := w.ends(benchmark("passes", "sim", gated(rateGate("fast", "1k"))), v1alpha1.PhasePassed, rate(64, 1000), rate(128, 2000))
	w.Expect(b.Status.Gates).To(Equal([]v1alpha1.GateStatus{{Name: "fast", Verdict: v1alpha1.GatePassed, Passed: 2}}))
	w.Expect(gatesPassed(b).Status).To(Equal(metav1.ConditionTrue))
	ordinarySize(w, b)
	w.Expect(b.Status.Message).To(Equal("gate fast passed; all rows were measured"))

	b = w.ends(benchmark("fails", "sim", gated(rateGate("fast", "1001"), rateGate("slow", "1"))), v1alpha1.PhaseFailed, rate(64, 1000), rate(128, 2000))
	w.Expect(b.Status.Outcome).To(Equal(v1alpha1.PhaseFailed))
	w.Expect(b.Status.Gates).To(Equal([]v1alpha1.GateStatus{
		{Name: "fast", Verdict: v1alpha1.GateFailed, Passed: 1, Failed: 1, Message: "throughput 64 B: 1,000 frames/s is below 1,001 frames/s"},
		{Name: "slow", Verdict: v1alpha1.GatePassed, Passed: 2},
	}))
	w.Expect(gatesPassed(b)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonGateFailed)))
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionMeasured)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonAllMeasured)))
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(v1alpha1.PhaseFailed))))
	w.Expect(b.Status.Message).To(Equal("gate fast failed: throughput 64 B: 1,000 frames/s is below 1,001 frames/s; all rows were measured"))
	w.Expect(w.judgement(b).Gates[0].Rows).To(HaveLen(2))
	w.bedIsClean("sim")

	slow := rate(64, 1000)
	slow.Validity, slow.ValidityReasons = v1alpha1.ValidityGeneratorBound, []string{"the tester was late"}
	b = w.ends(benchmark("unknown", "sim", gated(rateGate("fast", "10"))), v1alpha1.PhaseInconclusive, slow, rate(128, 2000))
	w.Expect(b.Status.Gates).To(Equal([]v1alpha1.GateStatus{
		{Name: "fast", Verdict: v1alpha1.GateInconclusive, Passed: 1, Inconclusive: 1, Message: "throughput 64 B: the row is GeneratorBound: the tester was late"},
	}))
	w.Expect(gatesPassed(b)).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", v1alpha1.ReasonGateInconclusive)))
}

// ordinarySize compares as many finished benchmarks as a team may have with a quarter of the bytes that its objects may have.
func ordinarySize(w *world, b *v1alpha1.Benchmark) {
	b = b.DeepCopy()
	b.ManagedFields = nil
	text, err := json.Marshal(b)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(v1alpha1.DefaultMaxBenchmarks * len(text)).To(BeNumerically("<", v1alpha1.DefaultMaxObjectsMiB<<20/4))
}

// gatesRelative compares with a benchmark by its name and by its labels. What a result says
// stays when the baseline is gone.
func gatesRelative(w *world) {
	w.modelledBed()
	labelled := func(value string) func(*v1alpha1.Benchmark) {
		return func(b *v1alpha1.Benchmark) { b.Labels = map[string]string{"release": value} }
	}
	w.ends(benchmark("older", "sim", labelled("last")), v1alpha1.PhaseMeasured, rate(64, 5000))
	w.pass(time.Minute)
	old := w.ends(benchmark("old", "sim", labelled("last")), v1alpha1.PhaseMeasured, rate(64, 1000))
	b := w.ends(benchmark("new", "sim", labelled("last"), gated(
		relativeGate("by-name", v1alpha1.GateBaseline{BenchmarkName: "older"}),
		relativeGate("by-label", v1alpha1.GateBaseline{BenchmarkSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"release": "last"}}}),
		relativeGate("missing", v1alpha1.GateBaseline{BenchmarkName: "nobody"}),
	)), v1alpha1.PhaseFailed, rate(64, 990))
	verdicts := func() (all []v1alpha1.GateVerdict) {
		for _, g := range w.judgement(b).Gates {
			all = append(all, g.Verdict)
		}
		return all
	}
	want := []v1alpha1.GateVerdict{v1alpha1.GateFailed, v1alpha1.GatePassed, v1alpha1.GateInconclusive}
	w.Expect(verdicts()).To(Equal(want))
	w.Expect(*w.judgement(b).Gates[1].Rows[0].Baseline).To(Equal(int64(1000)))
	w.Expect(w.judgement(b).Gates[1].Baseline.UID).To(Equal(string(old.UID)), "the newest of both")
	w.Expect(b.Status.Gates[2].Message).To(ContainSubstring("no finished benchmark nobody is known"))
	w.Expect(w.c.Delete(w.t.Context(), old)).To(Succeed())
	w.vanishes(old)
	w.Expect(verdicts()).To(Equal(want))
}

// gatesOfTheTrend compares with the level of earlier runs of the same name, and of a benchmark
// that only the archive has.
func gatesOfTheTrend(w *world) {
	d := w.archiving()
	w.modelledBed()
	for range 3 {
		b := w.ends(benchmark("nightly", "sim"), v1alpha1.PhaseMeasured, rate(64, 1000))
		w.archived("nightly")
		w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
		w.vanishes(b)
	}
	trend := relativeGate("as-usual", v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 3}})
	early := relativeGate("too-few", v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 4}})
	b := w.ends(benchmark("nightly", "sim", gated(trend, early, relativeGate("archived", v1alpha1.GateBaseline{BenchmarkName: "nightly"}))), v1alpha1.PhaseFailed, rate(64, 989))
	w.Expect(b.Status.Gates[0].Message).To(Equal("throughput 64 B: 989 frames/s is more than 1% below 1,000 frames/s of the baseline"))
	w.Expect(b.Status.Gates[1].Verdict).To(Equal(v1alpha1.GateInconclusive), "%+v", w.judgement(b).Gates[1])
	w.Expect(b.Status.Gates[2].Verdict).To(Equal(v1alpha1.GateFailed))
	w.says("nightly", v1alpha1.ConditionRegression, v1alpha1.ReasonNoRegression)
	w.archived("nightly")
	for _, where := range d.documents() {
		if archived := w.readArchived("file://" + where); archived.Benchmark.UID == string(b.UID) {
			w.Expect(archived.Phase).To(Equal(v1alpha1.PhaseFailed))
			w.Expect(archived.Gates).To(Equal(w.judgement(b)))
			return
		}
	}
	w.t.Error("the archive does not have the result")
}

// gatesOfANamedHistory compares with benchmarks of other names, as those of a schedule are.
func gatesOfANamedHistory(w *world) {
	d := w.archiving()
	w.modelledBed()
	in := func(b *v1alpha1.Benchmark) { b.Spec.HistoryName = "nightly-sim" }
	for n := range 3 {
		name := fmt.Sprint("nightly-", n)
		b := w.ends(benchmark(name, "sim", in), v1alpha1.PhaseMeasured, rate(64, 1000))
		w.archived(name)
		w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
		w.vanishes(b)
	}
	b := w.ends(benchmark("nightly-3", "sim", in, gated(
		relativeGate("as-usual", v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 3}}),
		relativeGate("as-the-last", v1alpha1.GateBaseline{BenchmarkName: "nightly-sim"}),
	)), v1alpha1.PhaseFailed, rate(64, 989))
	w.Expect(b.Status.Gates[0].Message).To(Equal("throughput 64 B: 989 frames/s is more than 1% below 1,000 frames/s of the baseline"))
	w.Expect(b.Status.Gates[1].Verdict).To(Equal(v1alpha1.GateFailed))
	w.archived("nightly-3")
	w.says("nightly-3", v1alpha1.ConditionRegression, v1alpha1.ReasonNoRegression)
	w.Expect(d.documents()).To(HaveLen(4))
	for _, where := range d.documents() {
		w.Expect(filepath.Base(filepath.Dir(where))).To(Equal("nightly-sim"))
	}
}

// gatesWithoutArchive waits for the archive, with the bed released, and goes on without it
// when that takes too long.
func gatesWithoutArchive(w *world) {
	d := w.archiving()
	w.modelledBed()
	d.goesAway()
	create(w.t, w.c, benchmark("nightly", "sim", gated(relativeGate("as-usual", v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{}}))))
	w.runners.report(w.reaches("nightly", v1alpha1.PhaseRunning), measured(rate(64, 1000)))
	c := w.says("nightly", v1alpha1.ConditionGatesPassed, v1alpha1.ReasonBaselineUnreadable)
	w.Expect(c.Status).To(Equal(metav1.ConditionUnknown))
	w.Eventually(func() *v1alpha1.BedLease { return w.bed("sim").Status.Lease }).Should(BeNil())
	w.Expect(w.benchmark("nightly").Status.Phase).To(Equal(v1alpha1.PhaseCleaningUp))
	w.impatient(func(d *kit.Deadlines) { d.Baseline = short })
	b := w.reaches("nightly", v1alpha1.PhaseInconclusive)
	w.Expect(b.Status.Gates[0].Verdict).To(Equal(v1alpha1.GateInconclusive))
	w.Expect(gatesPassed(b).Reason).To(Equal(v1alpha1.ReasonGateInconclusive))
	d.comesBack()
	w.archived("nightly")
}

func gatesOfAborted(w *world) {
	w.modelledBed()
	create(w.t, w.c, benchmark("b", "sim", gated(rateGate("fast", "1k"), rateGate("faster", "1M"))))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measuring(rate(64, 1000)))
	w.Eventually(func() int { return len(w.rows(b)) }).Should(Equal(1))
	patch := client.MergeFrom(b.DeepCopy())
	b.Spec.Abort = true
	w.Expect(w.c.Patch(w.t.Context(), b, patch)).To(Succeed())
	b = w.reaches("b", v1alpha1.PhaseAborted)
	w.Expect(b.Status.Gates[0].Verdict).To(Equal(v1alpha1.GateInconclusive))
	w.Expect(b.Status.Gates[0].Message).To(Equal("not every row was measured: the benchmark is Aborted"))
	w.Expect(b.Status.Gates[1].Verdict).To(Equal(v1alpha1.GateFailed))
	w.Expect(gatesPassed(b).Reason).To(Equal(v1alpha1.ReasonGateFailed))
	w.bedIsClean("sim")
}
