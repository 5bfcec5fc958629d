package recorder_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
)

// The last state is read back from a log with other lines and quotes.
func TestStateInALog(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	if _, found := recorder.LastState("time=2026-11-23T12:00:00.000Z level=INFO msg=\"the recorder takes points\" state=\n"); found {
		t.Error("there is a state in a log without one")
	}
	stats := delivery.Stats{Stats: spool.Stats{Rows: spool.Kept{Points: 3, Bytes: 400}, Series: spool.Kept{Points: 70, Bytes: 900}, Dropped: 5}}
	recorder.StateOf(stats, time.Time{}, 1<<20).Log(log)
	stats.Problem, stats.Since = `401: "unauthorized" state=no`, time.Date(2026, 11, 23, 12, 0, 0, 5, time.UTC)
	want := recorder.StateOf(stats, stats.Since.Add(-time.Hour), 1<<20)
	want.Log(log)
	log.Warn("a request failed", "error", errors.New(stats.Problem))
	got, found := recorder.LastState(text.String())
	if !found || got != want {
		t.Errorf("%+v, want %+v in\n%s", got, want, &text)
	}
	if got.Rows != 3 || got.Series != 70 || got.Bytes != 1300 || got.Dropped != 5 || !got.Since.Equal(stats.Since.Truncate(time.Second)) {
		t.Errorf("%+v of %+v", got, stats)
	}
}
