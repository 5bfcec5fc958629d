package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/opmetrics/opmetricstest"
)

// count reads a metric of the operator.
func (w *world) count(name string, labels ...string) float64 {
	w.t.Helper()
	return opmetricstest.Value(w.t, w.counts, name, labels...)
}

// counted waits until a metric has a value: a phase is counted after it is stored.
func (w *world) counted(want float64, name string, labels ...string) {
	w.t.Helper()
	w.Eventually(func() float64 { return w.count(name, labels...) }).Should(BeNumerically("==", want), "%s%q", name, labels)
}

// TestCounts follows the metrics while one benchmark has the bed, a second one waits for it,
// and a third one fits none.
func TestCounts(t *testing.T) {
	w := newWorld(t, startServer(t))
	w.modelledBed()
	w.counted(1, "nodrop_bed_ready", "bed", "sim")
	w.counted(0, "nodrop_bed_leased", "bed", "sim")
	create(t, w.c, benchmark("b", "sim"))
	w.reaches("b", v1alpha1.PhaseRunning)
	create(t, w.c, benchmark("next", "sim"), benchmark("lost", "nowhere"))
	w.reaches("next", v1alpha1.PhaseQueued)
	w.reaches("lost", v1alpha1.PhasePending)
	b, next := w.benchmark("b"), w.benchmark("next")
	for want, series := range map[float64][][]string{
		1: {
			{"nodrop_bed_leased", "bed", "sim"}, {"nodrop_bed_waiting_benchmarks", "bed", "sim"},
			{"nodrop_team_waiting_benchmarks", "team", team}, {"nodrop_team_pending_benchmarks", "team", team},
			{"nodrop_benchmark_phase_duration_seconds", "phase", "Queued"}, {"nodrop_benchmark_phase_duration_seconds", "phase", "Preparing"},
		},
		0: {
			{"nodrop_bed_quarantined", "bed", "sim"}, {"nodrop_benchmarks_finished_total"}, {"nodrop_clean_ups_total"},
			{"nodrop_benchmark_phase_duration_seconds", "phase", "Running"}, {"nodrop_archive_waiting_benchmarks"},
		},
		float64(b.Status.StartTime.Unix()): {{"nodrop_bed_lease_timestamp_seconds", "bed", "sim"}},
		float64(next.CreationTimestamp.Unix()): {
			{"nodrop_bed_oldest_waiting_timestamp_seconds", "bed", "sim"}, {"nodrop_team_oldest_waiting_timestamp_seconds", "team", team},
		},
	} {
		for _, s := range series {
			w.counted(want, s[0], s[1:]...)
		}
	}
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.reaches("next", v1alpha1.PhaseRunning)
	for _, s := range [][]string{
		{"nodrop_benchmarks_finished_total", "outcome", "Measured"}, {"nodrop_clean_ups_total", "result", "done"},
		{"nodrop_benchmark_phase_duration_seconds", "phase", "Running"}, {"nodrop_benchmark_phase_duration_seconds", "phase", "CleaningUp"},
	} {
		w.counted(1, s[0], s[1:]...)
	}
	w.counted(2, "nodrop_benchmark_phase_duration_seconds", "phase", "Queued")
	w.counted(0, "nodrop_bed_waiting_benchmarks", "bed", "sim")
	w.stop()
	w.Expect(opmetricstest.Gather(t, w.counts)).NotTo(HaveKey("nodrop_bed_ready"), "an operator that does not lead")
}
