package opmetrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
)

func TestRecorder(t *testing.T) {
	stats := delivery.Stats{
		Stats: spool.Stats{
			Rows: spool.Kept{Points: 3, Bytes: 300}, Series: spool.Kept{Points: 5, Bytes: 500},
			Refused: spool.Kept{Points: 1, Bytes: 10}, Dropped: 7,
		},
		Written: 11, Failures: 2, Problem: "503 of https://influxdb: token wrong",
	}
	c := NewRecorder(func() delivery.Stats { return stats }, 1<<20)
	want := `
# HELP nodrop_recorder_dropped_points_total Samples and trials that were dropped since the spool was made, because it was full.
# TYPE nodrop_recorder_dropped_points_total counter
nodrop_recorder_dropped_points_total 7
# HELP nodrop_recorder_sink_failures_total Attempts to write to the database that failed.
# TYPE nodrop_recorder_sink_failures_total counter
nodrop_recorder_sink_failures_total 2
# HELP nodrop_recorder_sink_up 1 while the database takes points, or none was tried yet; 0 after a request that failed.
# TYPE nodrop_recorder_sink_up gauge
nodrop_recorder_sink_up 0
# HELP nodrop_recorder_spool_limit_bytes What the spool takes at most, by recorder.spoolSize of the chart.
# TYPE nodrop_recorder_spool_limit_bytes gauge
nodrop_recorder_spool_limit_bytes 1.048576e+06
# HELP nodrop_recorder_spooled_bytes What these points take in the spool, compressed.
# TYPE nodrop_recorder_spooled_bytes gauge
nodrop_recorder_spooled_bytes{kind="refused"} 10
nodrop_recorder_spooled_bytes{kind="row"} 300
nodrop_recorder_spooled_bytes{kind="series"} 500
# HELP nodrop_recorder_spooled_points Points in the spool: row and series wait for the database, refused are those that it did not take.
# TYPE nodrop_recorder_spooled_points gauge
nodrop_recorder_spooled_points{kind="refused"} 1
nodrop_recorder_spooled_points{kind="row"} 3
nodrop_recorder_spooled_points{kind="series"} 5
# HELP nodrop_recorder_written_points_total Points that the database has taken since the recorder started.
# TYPE nodrop_recorder_written_points_total counter
nodrop_recorder_written_points_total 11
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	stats.Problem, stats.Last = "", time.Unix(1_700_000_000, 0)
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP nodrop_recorder_sink_last_success_timestamp_seconds When the database last took points; absent before the first time.
# TYPE nodrop_recorder_sink_last_success_timestamp_seconds gauge
nodrop_recorder_sink_last_success_timestamp_seconds 1.7e+09
# HELP nodrop_recorder_sink_up 1 while the database takes points, or none was tried yet; 0 after a request that failed.
# TYPE nodrop_recorder_sink_up gauge
nodrop_recorder_sink_up 1
`), sinkUp.Name, sinkLastSuccess.Name); err != nil {
		t.Error(err)
	}
}
