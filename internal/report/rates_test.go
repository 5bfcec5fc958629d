package report

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A load that is a rate is shown as it was written, and beside what was intended
// stands what left the tester.
func TestRatesAreShownAsWritten(t *testing.T) {
	row := v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameSize: 64, Load: "5Mpps"},
		Frames:   &v1alpha1.FrameSection{LineRatePPM: 336_000, FramesPerSecond: 10_000_000, OfferedFramesPerSecond: 9_999_998, Sent: 10, Received: 10},
		Validity: v1alpha1.ValidityValid,
	}
	share := row
	share.Load = "50%"
	text := tableOf([]v1alpha1.ResultRow{row, share}, unitFor(1)).String()
	for _, want := range []string{"offered", "5Mpps", "10,000,000", "9,999,998", "33.6000"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := tableOf([]v1alpha1.ResultRow{share}, unitFor(1)).String(); strings.Contains(text, "offered") {
		t.Errorf("offered stands beside a share of line rate:\n%s", text)
	}
}
