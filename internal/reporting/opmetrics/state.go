package opmetrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of the state of the lab. Only the operator that leads exports them, but for the
// certificate, which each has.
var (
	leading = define(ComponentOperator, "Gauge", "nodrop_operator_leading",
		"1 while this operator leads, 0 while it waits to.")
	bedReady = define(ComponentOperator, "Gauge", "nodrop_bed_ready",
		"1 while benchmarks can lease the bed, or one has it; 0 while its condition Ready is not true.", "bed")
	bedUnschedulable = define(ComponentOperator, "Gauge", "nodrop_bed_unschedulable",
		"1 while the bed takes no new benchmarks (spec.unschedulable), else 0.", "bed")
	bedQuarantined = define(ComponentOperator, "Gauge", "nodrop_bed_quarantined",
		"1 while the bed is quarantined, else 0.", "bed")
	bedLeased = define(ComponentOperator, "Gauge", "nodrop_bed_leased",
		"1 while a benchmark has the bed, else 0; its mean over time is the utilisation.", "bed")
	bedLeaseTime = define(ComponentOperator, "Gauge", "nodrop_bed_lease_timestamp_seconds",
		"When the bed was leased; absent while it is free.", "bed")
	bedWaiting = define(ComponentOperator, "Gauge", "nodrop_bed_waiting_benchmarks",
		"Benchmarks in the queue that can use the bed; one that can use several beds counts for each.", "bed")
	bedOldest = define(ComponentOperator, "Gauge", "nodrop_bed_oldest_waiting_timestamp_seconds",
		"When the oldest of these was created; absent while none waits.", "bed")
	bedCalibration = define(ComponentOperator, "Gauge", "nodrop_bed_calibration_timestamp_seconds",
		"When the tester was calibrated for the bed that spec.calibration names; absent when it names none, or there is no calibration.", "bed")
	bedCalibrationEnd = define(ComponentOperator, "Gauge", "nodrop_bed_calibration_expiration_timestamp_seconds",
		"When this calibration is older than spec.calibration.maxAge.", "bed")
	teamWaiting = define(ComponentOperator, "Gauge", "nodrop_team_waiting_benchmarks",
		"Benchmarks of the team in the queue; a team is a namespace. Absent while it has none.", "team")
	teamOldest = define(ComponentOperator, "Gauge", "nodrop_team_oldest_waiting_timestamp_seconds",
		"When the oldest of these was created; absent while none waits.", "team")
	teamPending = define(ComponentOperator, "Gauge", "nodrop_team_pending_benchmarks",
		"Benchmarks of the team that fit no bed, so that they are not in the queue. Absent while it has none.", "team")
	archiveWaiting = define(ComponentOperator, "Gauge", "nodrop_archive_waiting_benchmarks",
		"Finished benchmarks whose result is not archived yet; absent without an archive.")
	archiveOldest = define(ComponentOperator, "Gauge", "nodrop_archive_oldest_waiting_timestamp_seconds",
		"When the first of these ended; absent while none waits.")
	certificateEnd = define(ComponentOperator, "Gauge", "nodrop_webhook_certificate_expiration_timestamp_seconds",
		"When the certificate that this operator serves its webhooks with expires.")
)

// Bed is the state of a bed. A time that is zero means that there is none.
type Bed struct {
	Name                              string
	Ready, Unschedulable, Quarantined bool
	Leased                            time.Time
	Waiting                           int
	Oldest                            time.Time
	Calibrated, CalibrationEnds       time.Time
}

// Team contains the waiting and pending benchmarks of a team. Oldest is zero if no benchmark
// waits.
type Team struct {
	Name             string
	Waiting, Pending int
	Oldest           time.Time
}

// Archive contains the finished benchmarks that wait for the archive.
type Archive struct {
	Waiting int
	// Oldest is the time at which the first of them ended; zero if none waits.
	Oldest time.Time
}

// State is the state of a lab.
type State struct {
	Beds  []Bed
	Teams []Team
	// Archive is nil without one.
	Archive *Archive
}

// StateReader reads the state of a lab.
type StateReader interface {
	// State answers at once, or fails when the context ends.
	State(ctx context.Context) (State, error)
}

// patience is the maximum time for which a request for metrics waits for the state.
const patience = 5 * time.Second

// state collects the state of the lab.
type state struct {
	mu  sync.Mutex
	lab StateReader
	// expires returns the expiration time of the webhook certificate; nil without webhooks.
	expires func() (time.Time, error)
}

// Lead begins to export the state of a lab, when this operator begins to lead; with nil it ends that.
func (o *Operator) Lead(l StateReader) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lab = l
}

// Certificate exports when the certificate of the webhooks expires.
func (o *Operator) Certificate(expires func() (time.Time, error)) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expires = expires
}

func (s *state) collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	lab, expires := s.lab, s.expires
	s.mu.Unlock()
	if expires != nil {
		if end, err := expires(); err == nil {
			out <- certificateEnd.value(unix(end))
		}
	}
	out <- leading.value(truth(lab != nil))
	if lab == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now, err := lab.State(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(bedReady.desc, fmt.Errorf("reading the state of the lab: %w", err))
		return
	}
	for _, b := range now.Beds {
		out <- bedReady.value(truth(b.Ready), b.Name)
		out <- bedUnschedulable.value(truth(b.Unschedulable), b.Name)
		out <- bedQuarantined.value(truth(b.Quarantined), b.Name)
		out <- bedLeased.value(truth(!b.Leased.IsZero()), b.Name)
		out <- bedWaiting.value(float64(b.Waiting), b.Name)
		bedLeaseTime.at(out, b.Leased, b.Name)
		bedOldest.at(out, b.Oldest, b.Name)
		bedCalibration.at(out, b.Calibrated, b.Name)
		bedCalibrationEnd.at(out, b.CalibrationEnds, b.Name)
	}
	for _, t := range now.Teams {
		if t.Waiting > 0 {
			out <- teamWaiting.value(float64(t.Waiting), t.Name)
		}
		if t.Pending > 0 {
			out <- teamPending.value(float64(t.Pending), t.Name)
		}
		teamOldest.at(out, t.Oldest, t.Name)
	}
	if now.Archive != nil {
		out <- archiveWaiting.value(float64(now.Archive.Waiting))
		archiveOldest.at(out, now.Archive.Oldest)
	}
}

// at is a sample of a time, unless it is zero.
func (d Definition) at(out chan<- prometheus.Metric, t time.Time, labels ...string) {
	if !t.IsZero() {
		out <- d.value(unix(t), labels...)
	}
}
