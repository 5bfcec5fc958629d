package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

func TestCalibrationInTheAppendix(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	start := metav1.NewTime(at.Add(75 * time.Hour))
	d := &Document{TestBed: "switch", StartTime: &start, Environment: &v1alpha1.ResultEnvironment{Calibration: &v1alpha1.CalibrationStatus{
		Time: metav1.NewTime(at), Benchmark: "lab/calibrate", TestBedName: "loops", JoinedBy: v1alpha1.JoinedByCables,
		Engine: v1alpha1.EngineXDP, NoDropVersion: "v0.3.1",
		FrameSizes: []v1alpha1.CalibratedFrameSize{
			{FrameSize: 64, LineRatePPM: 412_500, UpperBoundPPM: 415_000, FramesPerSecond: 12_276_786, LatencyLoadPPM: 100_000,
				Latency: &v1alpha1.LatencySummary{MinNs: 812, AvgNs: 1_034, MaxNs: 9_001, JitterAvgNs: new(int64(40)), JitterMaxNs: new(int64(8_000))}},
			{FrameSize: 512, LineRatePPM: 500_000, FramesPerSecond: 2_349_624},
			{FrameSize: 1518, LineRatePPM: 1_000_000, FramesPerSecond: 1_625_488},
		},
	}}}
	want := []string{
		"bed loops, ports joined by the bed's cables; by benchmark lab/calibrate on 2026-03-04 12:00 UTC with engine xdp of NoDrop v0.3.1, 3 days before this one",
		"64 B: up to 41.25% of line rate, 12,276,786 frames/s; at 10% latency 0.812 / 1.034 / 9.001 µs (min / avg / max), jitter 0.040 / 8.000 µs (avg / max)",
		"512 B: at least 50% of line rate, 2,349,624 frames/s",
		"1518 B: up to 100% of line rate, 1,625,488 frames/s",
	}
	if got := calibrated(d.Environment, d.TestBed, d.StartTime); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if text := d.appendix().on(layout.Paper{}); !strings.Contains(text, "Calibration  bed loops, ports joined by the bed's cables") {
		t.Errorf("appendix:\n%s", text)
	}

	// The result of the calibration itself.
	d.TestBed, d.StartTime = "loops", &metav1.Time{Time: at.Add(-time.Hour)}
	if got := calibrated(d.Environment, d.TestBed, d.StartTime)[0]; got != "ports joined by the bed's cables; by benchmark lab/calibrate on 2026-03-04 12:00 UTC with engine xdp of NoDrop v0.3.1" {
		t.Errorf("%q", got)
	}
	d.Environment.Calibration = nil
	if got := calibrated(d.Environment, d.TestBed, d.StartTime); got != nil {
		t.Errorf("%q without a calibration", got)
	}
}
