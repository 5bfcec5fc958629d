package opmetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
)

// Metrics of the recorder.
var (
	spooledPoints = define(ComponentRecorder, "Gauge", "nodrop_recorder_spooled_points",
		"Points in the spool: row and series wait for the database, refused are those that it did not take.", "kind")
	spooledBytes = define(ComponentRecorder, "Gauge", "nodrop_recorder_spooled_bytes",
		"What these points take in the spool, compressed.", "kind")
	spoolLimit = define(ComponentRecorder, "Gauge", "nodrop_recorder_spool_limit_bytes",
		"What the spool takes at most, by recorder.spoolSize of the chart.")
	droppedPoints = define(ComponentRecorder, "Counter", "nodrop_recorder_dropped_points_total",
		"Samples and trials that were dropped since the spool was made, because it was full.")
	writtenPoints = define(ComponentRecorder, "Counter", "nodrop_recorder_written_points_total",
		"Points that the database has taken since the recorder started.")
	sinkUp = define(ComponentRecorder, "Gauge", "nodrop_recorder_sink_up",
		"1 while the database takes points, or none was tried yet; 0 after a request that failed.")
	sinkFailures = define(ComponentRecorder, "Counter", "nodrop_recorder_sink_failures_total",
		"Attempts to write to the database that failed.")
	sinkLastSuccess = define(ComponentRecorder, "Gauge", "nodrop_recorder_sink_last_success_timestamp_seconds",
		"When the database last took points; absent before the first time.")
)

// recorderCollector exports how a delivery goes.
type recorderCollector struct {
	stats func() delivery.Stats
	limit int64
}

// NewRecorder exports how the delivery of a recorder goes, whose spool takes so many bytes.
func NewRecorder(stats func() delivery.Stats, limit int64) prometheus.Collector {
	return recorderCollector{stats, limit}
}

func (c recorderCollector) Describe(out chan<- *prometheus.Desc) {
	describe(out, ComponentRecorder)
}

func (c recorderCollector) Collect(out chan<- prometheus.Metric) {
	s := c.stats()
	out <- spooledPoints.value(float64(s.Rows.Points), "row")
	out <- spooledPoints.value(float64(s.Series.Points), "series")
	out <- spooledPoints.value(float64(s.Refused.Points), "refused")
	out <- spooledBytes.value(float64(s.Rows.Bytes), "row")
	out <- spooledBytes.value(float64(s.Series.Bytes), "series")
	out <- spooledBytes.value(float64(s.Refused.Bytes), "refused")
	out <- spoolLimit.value(float64(c.limit))
	out <- droppedPoints.value(float64(s.Dropped))
	out <- writtenPoints.value(float64(s.Written))
	out <- sinkUp.value(truth(s.Problem == ""))
	out <- sinkFailures.value(float64(s.Failures))
	if !s.Last.IsZero() {
		out <- sinkLastSuccess.value(unix(s.Last))
	}
}
