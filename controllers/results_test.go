package controllers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// TestResults stores what runners measure on a real API server.
func TestResults(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"many large rows":                           manyLargeRows,
		"a complete part":                           completePart,
		"a snapshot":                                snapshotCannotChange,
		"an operator that dies between two rows":    operatorDiesBetweenRows,
		"a container of the runner starts again":    runnerContainerRestarts,
		"inputs are as they were":                   inputsAsTheyWere,
		"a long name":                               longName,
		"an answer that does not fit the plan":      rowOfAnotherTest,
		"an answer that does not fit the schema":    rowOutsideOfTheSchema,
		"an outcome that there is not":              unknownOutcome,
		"a row twice":                               rowTwice,
		"calibration of another bed":                calibrationOfAnotherBed,
		"a silent runner delays no other benchmark": silentRunnerDelaysNobody,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// sizes are n frame sizes from 64 on.
func sizes(n int) []int32 {
	var all []int32
	for i := range n {
		all = append(all, int32(64+4*i))
	}
	return all
}

// seriesRow is a row with the longest series.
func seriesRow(size int32) v1alpha1.ResultRow {
	r := row(size)
	rates := make([]int64, 240)
	for i := range rates {
		rates[i] = 148_809_523
	}
	r.Series = &v1alpha1.RateSeries{
		Samples: 600, MinReceivedFramesPerSecond: 1, AvgReceivedFramesPerSecond: rates[0], MaxReceivedFramesPerSecond: rates[0], DurationMilliseconds: 60_000,
		Points: v1alpha1.RatePoints{EndMilliseconds: rates, SentFramesPerSecond: rates, ReceivedFramesPerSecond: rates, MinReceivedFramesPerSecond: rates},
	}
	return r
}

// Rows with series at 64 frame sizes in three tests are more than etcd takes in one
// object.
func manyLargeRows(w *world) {
	p := profile()
	p.Spec.FrameSizes = sizes(64)
	tests := []string{"throughput", "second", "third"}
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), p, benchmark("b", "sim", func(b *v1alpha1.Benchmark) {
		for _, name := range tests[1:] {
			test := *b.Spec.Tests[0].DeepCopy()
			test.Name = name
			b.Spec.Tests = append(b.Spec.Tests, test)
		}
	}))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	var rows []v1alpha1.ResultRow
	for _, test := range tests {
		for _, size := range sizes(64) {
			r := seriesRow(size)
			r.Test = test
			rows = append(rows, r)
		}
	}
	all, err := json.Marshal(rows)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(len(all)).To(BeNumerically(">", 1500<<10), "bytes of rows")

	w.runners.report(b, measuring(rows[:20]...))
	w.Eventually(func() int { return len(w.rows(b)) }).Should(Equal(20))
	w.runners.report(b, measured(rows...))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")

	result := w.stored(b)
	w.Expect(cmp.Diff(rows, result.Rows)).To(BeEmpty())
	w.Expect(result.Complete).To(BeTrue())
	w.Expect(result.Environment).NotTo(BeNil())
	w.Expect(b.Status.Results.Digest).To(Equal(result.Digest))
	w.Expect(b.Status.Results.Rows).To(BeEquivalentTo(192))
	w.Expect(b.Status.Results.Validity).To(Equal([]v1alpha1.ValidityCount{{Validity: v1alpha1.ValidityValid, Rows: 192}}))
	w.Expect(b.Status.Results.Headlines).To(HaveLen(3))
	parts := w.parts(b)
	w.Expect(b.Status.Results.Parts).To(BeEquivalentTo(len(parts)))
	for _, part := range parts {
		w.Expect(jsonSize(w, &part)).To(BeNumerically("<", 128<<10), part.Name)
		w.Expect(metav1.IsControlledBy(&part, b)).To(BeTrue(), "the benchmark owns %s", part.Name)
		w.Expect(part.Labels).To(HaveKeyWithValue(v1alpha1.LabelBenchmark, "b"))
	}
	w.Expect(jsonSize(w, &b.Status)).To(BeNumerically("<", 32<<10))
}

func (w *world) parts(b *v1alpha1.Benchmark) []v1alpha1.BenchmarkResult {
	w.t.Helper()
	parts, err := stored.Parts(w.t.Context(), w.c, b)
	w.Expect(err).NotTo(HaveOccurred())
	return parts
}

func jsonSize(w *world, v any) int {
	w.t.Helper()
	text, err := json.Marshal(v)
	w.Expect(err).NotTo(HaveOccurred())
	return len(text)
}

// passed is a benchmark that passed with two rows.
func (w *world) passed() *v1alpha1.Benchmark {
	w.t.Helper()
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64), row(128)))
	return w.reaches("b", v1alpha1.PhaseMeasured)
}

// Even an administrator cannot change a complete part while the schema is installed.
func completePart(w *world) {
	parts := w.parts(w.passed())
	w.Expect(parts).To(HaveLen(2), "rows and environment")
	for _, part := range parts {
		for what, change := range map[string]func(*v1alpha1.BenchmarkResultSpec){
			"a row":        func(s *v1alpha1.BenchmarkResultSpec) { s.Rows = append(s.Rows, row(256)) },
			"completeness": func(s *v1alpha1.BenchmarkResultSpec) { s.Complete = false },
			"the digest":   func(s *v1alpha1.BenchmarkResultSpec) { s.Digest = strings.Repeat("0", 64) },
			"the owner":    func(s *v1alpha1.BenchmarkResultSpec) { s.BenchmarkUID = "other" },
		} {
			changed := part.DeepCopy()
			change(&changed.Spec)
			err := w.c.Update(w.t.Context(), changed)
			w.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", what, err)
			w.Expect(err).To(MatchError(ContainSubstring("a complete part of a result cannot be changed")))
		}
		labelled := part.DeepCopy()
		labelled.Labels["example.com/kept"] = "yes"
		w.Expect(w.c.Update(w.t.Context(), labelled)).To(Succeed(), "labels of a complete part")
	}
}

func snapshotCannotChange(w *world) {
	b := w.passed()
	var all v1alpha1.BenchmarkSnapshotList
	w.Expect(w.c.List(w.t.Context(), &all, client.InNamespace(team), client.MatchingLabels(stored.Selector(b)))).To(Succeed())
	w.Expect(all.Items).To(HaveLen(3), "profile, bed, and the table of the model")
	for _, s := range all.Items {
		s.Spec.Data = append(s.Spec.Data, 0)
		w.Expect(w.c.Update(w.t.Context(), &s)).To(MatchError(ContainSubstring("a snapshot cannot be changed")))
	}
}

func operatorDiesBetweenRows(w *world) {
	b := w.measuringOnModel()
	w.stop()
	w.runners.report(b, measured(row(64), row(128)))
	w.start()
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(cmp.Diff([]v1alpha1.ResultRow{row(64), row(128)}, w.rows(b))).To(BeEmpty())
	w.Expect(b.Status.Results.Rows).To(BeEquivalentTo(2))
}

// A restarted container waits to begin, and receives what is stored.
func runnerContainerRestarts(w *world) {
	b := w.measuringOnModel()
	w.beginsWith(b, 0)
	w.runners.restart(b)
	w.beginsWith(b, 1)
	w.runners.report(b, measured(row(64), row(128)))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(cmp.Diff([]v1alpha1.ResultRow{row(64), row(128)}, w.rows(b))).To(BeEmpty())
}

// Profile, bed and table are edited, deleted and made again while the benchmark has
// its bed; neither the run nor the report sees any of it.
func inputsAsTheyWere(w *world) {
	w.kubelet.hold("runner")
	p, model := profile(), configMap("model", "model.csv", table)
	create(w.t, w.c, model, modelled("sim"), p, benchmark("b", "sim"))
	w.appears("b", "runner")
	w.Expect(w.c.Delete(w.t.Context(), w.pod("b", "runner"), client.GracePeriodSeconds(0))).To(Succeed())
	w.Expect(w.c.Delete(w.t.Context(), p)).To(Succeed())
	other := profile()
	other.Spec.FrameSizes = []int32{1518}
	create(w.t, w.c, other)
	model.Data["model.csv"] = table + "256,60,1,2,3\n"
	w.Expect(w.c.Update(w.t.Context(), model)).To(Succeed())
	w.Eventually(func() error {
		bed := w.bed("sim")
		bed.Spec.Ports[0].Speed = "10G"
		return w.c.Update(w.t.Context(), bed)
	}).Should(Succeed())
	w.appears("b", "runner")
	w.letGo("b", "runner")
	b := w.reaches("b", v1alpha1.PhaseRunning)
	cfg := w.runnerConfig("b")
	w.Expect(cfg.Profile.Spec.FrameSizes).To(Equal([]int32{64, 128}))
	w.Expect(cfg.Model).To(Equal(table))
	w.Expect(cfg.Bed.Spec.Ports[0].Speed).To(BeEquivalentTo("1G"))

	w.runners.report(b, measured(row(64), row(128)))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	content, err := stored.Content(w.t.Context(), w.c, b)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(content.Profile.Spec.FrameSizes).To(Equal([]int32{64, 128}))
	w.Expect(content.Profile.UID).To(Equal(p.UID))
	w.Expect(content.Bed.Spec.Ports[0].Speed).To(BeEquivalentTo("1G"))
	w.Expect(content.ConfigMaps["model"].Data).To(HaveKeyWithValue("model.csv", table))
	w.Expect(content.ConfigMaps["model"].Data).To(HaveKey("frr.conf"), "other keys than the table")
	for _, in := range b.Status.Results.Inputs {
		w.Expect(in.SHA256).To(HaveLen(64))
	}
}

// Two benchmarks whose long names differ only at their end keep their results.
func longName(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile())
	for i := range 2 {
		name := strings.Repeat("n", 252) + fmt.Sprint(i)
		create(w.t, w.c, benchmark(name, "sim"))
		b := w.reaches(name, v1alpha1.PhaseRunning)
		w.runners.report(b, measured(row(64), row(128)))
		b = w.reaches(name, v1alpha1.PhaseMeasured)
		w.Expect(w.rows(b)).To(HaveLen(2))
		w.Expect(w.stored(b).Digest).To(Equal(b.Status.Results.Digest))
	}
}

// refused lets the runner answer something that ends the benchmark.
func (w *world) refused(s runner.State, why string) {
	w.t.Helper()
	b := w.measuringOnModel()
	w.runners.report(b, s)
	b = w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(ContainSubstring("the answer of the runner was refused"), ContainSubstring(why), ContainSubstring("1 finished row is kept")))
	w.says("b", v1alpha1.ConditionMeasured, v1alpha1.ReasonAnswerRefused)
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.Expect(w.stored(b).Complete).To(BeTrue())
	w.bedIsClean("sim")
}

func rowOfAnotherTest(w *world) {
	strange := row(128)
	strange.Test = "latency"
	w.refused(measuring(row(64), strange), `the plan has no row of test "latency"`)
}

// The API server refuses what only the schema forbids, once.
func rowOutsideOfTheSchema(w *world) {
	strange := row(128)
	strange.Search = &v1alpha1.SearchSummary{Method: "Guessing"}
	w.refused(measuring(row(64), strange), "Guessing")
}

func unknownOutcome(w *world) {
	s := measured(row(64))
	s.Outcome = v1alpha1.PhaseFailed
	w.refused(s, `outcome "Failed" and reason "AllMeasured", which do not go together`)
}

func rowTwice(w *world) {
	w.refused(measuring(row(64), row(128), row(128)), "it is in the log twice")
}

func calibrationOfAnotherBed(w *world) {
	s := measured(row(64), row(128))
	s.Environment.Calibration = &v1alpha1.CalibrationStatus{Benchmark: team + "/b", TestBedName: "of-another-team", Time: metav1.Now()}
	w.refused(s, `a calibration of bed "of-another-team"`)
}

// Runners that take a request and never answer it block no worker: all of them have an
// open request when another benchmark begins, and still when it has passed.
func silentRunnerDelaysNobody(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), profile())
	const silent = 12 // More than there are workers.
	for i := range silent {
		name := fmt.Sprintf("silent-%d", i)
		create(w.t, w.c, modelled(name))
		b := benchmark(name, name)
		create(w.t, w.c, b)
		w.runners.hang(b)
	}
	for i := range silent {
		w.reaches(fmt.Sprintf("silent-%d", i), v1alpha1.PhaseRunning)
	}
	w.Eventually(w.runners.asked).Should(Equal(silent), "runners that were asked and do not answer")
	create(w.t, w.c, modelled("sim"), benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.Eventually(w.runners.asked).Should(Equal(silent), "runners that still do not answer")
}
