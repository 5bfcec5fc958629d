package report

import (
	"bytes"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// short is a row whose tester sent a fraction of what was asked for: on a bed of 10G ports
// over a bridge, 86,784 of 14,880,952 frames/s left.
func short(of v1alpha1.Method, load v1alpha1.Load) v1alpha1.ResultRow {
	return v1alpha1.ResultRow{
		RowID: v1alpha1.RowID{Test: "mrr", Method: of, FrameSize: 64, Load: load},
		Frames: &v1alpha1.FrameSection{
			LineRatePPM: v1alpha1.PPM, FramesPerSecond: 14_880_952, BitsPerSecond: 14_880_952 * 512, OfferedFramesPerSecond: 86_784,
			Sent: 86_784, Received: 86_784, TrialMilliseconds: 1000, LossPPM: new(int64(0)), ReceivedFramesPerSecond: new(int64(86_784)),
		},
		Latency:  &v1alpha1.LatencySummary{MinNs: 1000, AvgNs: 2000, MaxNs: 3000, P50Ns: 2000, P90Ns: 2500, P99Ns: 2900, P999Ns: 2999},
		Validity: v1alpha1.ValidityGeneratorBound, ValidityReasons: []string{"the tester sent less"},
	}
}

// No format prints a rate that did not leave the tester as a rate of the row; the intended
// load is named as such.
func TestNoRateThatDidNotLeave(t *testing.T) {
	for name, row := range map[string]v1alpha1.ResultRow{
		"maximum receive rate": short(v1alpha1.MethodSoak, "100%"),
		"latency":              short(v1alpha1.MethodLatency, "100%"),
		"throughput":           short(v1alpha1.MethodThroughput, ""),
	} {
		d := &Document{Phase: v1alpha1.PhaseInconclusive, Rows: []v1alpha1.ResultRow{row}}
		texts := map[Format]string{"row line": RowLine(row)}
		for _, format := range []Format{FormatTable, FormatMarkdown, FormatHTML, FormatJUnit} {
			var b bytes.Buffer
			if err := d.Write(&b, format); err != nil {
				t.Fatal(err)
			}
			texts[format] = unstyled(b.String())
		}
		for format, text := range texts {
			for _, wrong := range []string{"14,880,952", "7.619", "7,619.047"} {
				if strings.Contains(text, wrong) {
					t.Errorf("%s, %s: %s did not leave\n%s", name, format, wrong, text)
				}
			}
			for _, want := range []string{"86,784", "44.433", "0.5832", "intended"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %s: no %s in\n%s", name, format, want, text)
				}
			}
		}
		var b bytes.Buffer
		if err := d.Write(&b, FormatCSV); err != nil {
			t.Fatal(err)
		}
		header, _, _ := strings.Cut(b.String(), "\r\n")
		for _, column := range strings.Split(header, ",") {
			if column == "frames_per_second" || column == "bits_per_second" || column == "line_rate_ppm" {
				t.Errorf("column %s does not say which load it has", column)
			}
		}
	}
}

// A load is shown as it was written, with what left the tester.
func TestLoadsAreShownAsWritten(t *testing.T) {
	row := v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameSize: 64, Load: "5Mpps"},
		Frames:   &v1alpha1.FrameSection{LineRatePPM: 336_000, FramesPerSecond: 10_000_000, OfferedFramesPerSecond: 9_999_998, Sent: 10, Received: 10},
		Validity: v1alpha1.ValidityValid,
	}
	text := testResults{rows: []v1alpha1.ResultRow{row}}.table(layout.UnitFor(1)).String()
	for _, want := range []string{"offered", "intended", "5Mpps", "9,999,998", "33.6000"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The intended load has a column of its own where another one left the tester, and no
// column has it already.
func TestIntendedNextToOffered(t *testing.T) {
	for name, tc := range map[string]struct {
		method  v1alpha1.Method
		load    v1alpha1.Load
		offered int64
		want    bool
	}{
		"as found":       {v1alpha1.MethodThroughput, "", 9_999_998, false},
		"less":           {v1alpha1.MethodThroughput, "", 9_989_999, true},
		"more":           {v1alpha1.MethodThroughput, "", 10_010_001, true},
		"asked for":      {v1alpha1.MethodLatency, "33.6%", 9_000_000, false},
		"asked, as sent": {v1alpha1.MethodLatency, "33.6%", 10_000_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			row := v1alpha1.ResultRow{
				RowID:  v1alpha1.RowID{Test: "a", Method: tc.method, FrameSize: 64, Load: tc.load},
				Frames: &v1alpha1.FrameSection{LineRatePPM: 336_000, FramesPerSecond: 10_000_000, OfferedFramesPerSecond: tc.offered, Sent: 10, Received: 10},
			}
			text := testResults{rows: []v1alpha1.ResultRow{row}}.table(layout.UnitFor(1)).String()
			if got := strings.Contains(text, " 33.6000 "); strings.Contains(text, "10,000,000") != (tc.offered == 10_000_000) || !strings.Contains(text, layout.Group(tc.offered)) || tc.want && !got {
				t.Errorf("the intended load is shown: %t, want %t\n%s", got, tc.want, text)
			}
		})
	}
}
