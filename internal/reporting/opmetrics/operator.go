package opmetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Metrics of what has happened in the operator.
var (
	phaseDuration = define(ComponentOperator, "Histogram", "nodrop_benchmark_phase_duration_seconds",
		"How long phases of benchmarks took, without those during which the operator started: Queued from the creation of the benchmark to its bed, Preparing, Running, CleaningUp, and Archiving from the end to the archive.", "phase")
	finished = define(ComponentOperator, "Counter", "nodrop_benchmarks_finished_total",
		"Benchmarks that ended, by their last phase.", "outcome")
	cleanUps = define(ComponentOperator, "Counter", "nodrop_clean_ups_total",
		"Clean-ups after benchmarks: done, or failed, which quarantines the bed.", "result")
	quarantines = define(ComponentOperator, "Counter", "nodrop_bed_quarantines_total",
		"How often the bed was quarantined because a clean-up failed.", "bed")
	archived = define(ComponentOperator, "Counter", "nodrop_archive_writes_total",
		"Attempts to archive a result: stored, unavailable (the archive), conflict (another document has its name) or unreadable (what the API has of it).", "result")
	admission = define(ComponentOperator, "Histogram", "nodrop_admission_duration_seconds",
		"How long the webhooks took to judge a manifest, by its kind and the decision: allowed, refused, or failed when they could not judge.", "kind", "decision")
)

// phaseBuckets are the bounds for the phases of benchmarks, in seconds: 1 s to 3 days.
var phaseBuckets = []float64{1, 5, 15, 60, 5 * 60, 15 * 60, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 72 * 3600}

// Operator counts what happens in an operator, and exports that and the state of the lab.
// All methods may be called at once; on a nil Operator they do nothing.
type Operator struct {
	phases, admissions               *prometheus.HistogramVec
	ends, cleanUps, quarant, archive *prometheus.CounterVec
	state
}

// NewOperator counts from 0.
func NewOperator() *Operator {
	o := &Operator{
		phases: phaseDuration.histogram(phaseBuckets), admissions: admission.histogram(prometheus.DefBuckets),
		ends: finished.counter(), cleanUps: cleanUps.counter(), quarant: quarantines.counter(), archive: archived.counter(),
	}
	o.begin()
	return o
}

// begin exports what has not happened yet as 0: Prometheus cannot see that a series rises
// that begins at 1.
func (o *Operator) begin() {
	for _, phase := range []v1alpha1.BenchmarkPhase{v1alpha1.PhaseQueued, v1alpha1.PhasePreparing, v1alpha1.PhaseRunning, v1alpha1.PhaseCleaningUp, Archiving} {
		o.phases.WithLabelValues(string(phase))
	}
	for _, outcome := range []v1alpha1.BenchmarkPhase{
		v1alpha1.PhasePassed, v1alpha1.PhaseMeasured, v1alpha1.PhaseInconclusive, v1alpha1.PhaseFailed, v1alpha1.PhaseInvalid, v1alpha1.PhaseAborted, v1alpha1.PhaseError,
	} {
		o.ends.WithLabelValues(string(outcome))
	}
	for _, result := range []string{"done", "failed"} {
		o.cleanUps.WithLabelValues(result)
	}
	for _, result := range []string{Stored, Unavailable, Conflict, Unreadable} {
		o.archive.WithLabelValues(result)
	}
	for _, kind := range []string{"Benchmark", "BenchmarkSchedule", "NotificationSink", "Reservation", "TestBed"} {
		for _, decision := range []string{Allowed, Refused, Failed} {
			o.admissions.WithLabelValues(kind, decision)
		}
	}
}

// Describe implements prometheus.Collector.
func (o *Operator) Describe(out chan<- *prometheus.Desc) { describe(out, ComponentOperator) }

// Collect implements prometheus.Collector.
func (o *Operator) Collect(out chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{o.phases, o.admissions, o.ends, o.cleanUps, o.quarant, o.archive} {
		c.Collect(out)
	}
	o.collect(out)
}

// Archiving is the time from the end of a benchmark until its result is in the archive; other
// phases have the names that they have in the API.
const Archiving = "Archiving"

// Phase counts a phase that ended.
func (o *Operator) Phase(name string, took time.Duration) {
	if o != nil {
		o.phases.WithLabelValues(name).Observe(max(took, 0).Seconds())
	}
}

// Finished counts a benchmark that ended.
func (o *Operator) Finished(outcome string) {
	if o != nil {
		o.ends.WithLabelValues(outcome).Inc()
	}
}

// CleanedUp counts a clean-up that is over.
func (o *Operator) CleanedUp(done bool) {
	if o == nil {
		return
	}
	result := "failed"
	if done {
		result = "done"
	}
	o.cleanUps.WithLabelValues(result).Inc()
}

// Quarantined counts a bed that was quarantined.
func (o *Operator) Quarantined(bed string) {
	if o != nil {
		o.quarant.WithLabelValues(bed).Inc()
	}
}

// Results of attempts to archive.
const (
	Stored      = "stored"
	Unavailable = "unavailable"
	Conflict    = "conflict"
	Unreadable  = "unreadable"
)

// Archived counts an attempt to archive a result.
func (o *Operator) Archived(result string) {
	if o != nil {
		o.archive.WithLabelValues(result).Inc()
	}
}

// Decisions on manifests.
const (
	Allowed = "allowed"
	Refused = "refused"
	Failed  = "failed"
)

// Judged counts a manifest of a kind on which the webhooks decided.
func (o *Operator) Judged(kind, decision string, took time.Duration) {
	if o != nil {
		o.admissions.WithLabelValues(kind, decision).Observe(took.Seconds())
	}
}
