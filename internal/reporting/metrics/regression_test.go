package metrics

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/history"
)

// worse is a history of 40 runs, in which the throughput is lower from the run 25 on, and
// the latency at a load higher.
func worse(t *testing.T) *history.History {
	t.Helper()
	var runs []history.Run
	for i := range int64(40) {
		rate, ns := 1_000_000+i%3, 5_000+i%5
		if i >= 25 {
			rate, ns = rate-200_000, ns+2_000
		}
		id := v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64, Variant: "fec-on"}
		atLoad := v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameMix: "imix", Load: "50%"}
		rows := []v1alpha1.ResultRow{
			{RowID: id, Validity: v1alpha1.ValidityValid, Frames: &v1alpha1.FrameSection{FramesPerSecond: rate, LineRatePPM: 400_000, OfferedFramesPerSecond: rate, Sent: 1, Received: 1}},
			{RowID: atLoad, Validity: v1alpha1.ValidityValid, Frames: &v1alpha1.FrameSection{FramesPerSecond: 1_000, Sent: 1, Received: 1}, Latency: &v1alpha1.LatencySummary{MinNs: 1_000, AvgNs: ns, MaxNs: 9_000}},
		}
		runs = append(runs, history.NewRun(history.RunInfo{Time: metav1.NewTime(began.Add(time.Duration(i) * 24 * time.Hour))}, "team-a", "nightly", "bed", "digest", rows))
	}
	h, err := history.Make(runs)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A regression is a point at its place in the history, the same one when later runs show it.
func TestRegressions(t *testing.T) {
	t.Parallel()
	h := worse(t)
	points := Regressions(h, "uid", v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one", Software: "1.2"}})
	if len(points) != 2 {
		t.Fatalf("%d regressions: %v", len(points), points)
	}
	first := points[0]
	if got, want := first.Series(), "nodrop_regression,bed=bed,device=acme one,frame_size=64,method=Throughput,metric=Throughput,team=team-a,test=throughput"; got != want {
		t.Errorf("the series is %s, want %s", got, want)
	}
	if got, want := first.Time, h.Runs[25].Time; !got.Truncate(time.Second).Equal(want.Time) {
		t.Errorf("the time is %s, want %s", got, want)
	}
	for _, want := range []Field{{"from", int64(1_000_001)}, {"to", int64(800_001)}, {"software", "1.2"}, {"variant", "fec-on"}} {
		if !slices.Contains(first.Fields, want) {
			t.Errorf("no field %v in %v", want, first.Fields)
		}
	}
	later := *h
	later.Runs = append(slices.Clone(h.Runs), history.RunInfo{Time: metav1.NewTime(began.Add(50 * 24 * time.Hour))})
	again := Regressions(&later, "other", v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}})
	if len(again) != 2 || again[0].Series() != first.Series() || !again[0].Time.Equal(first.Time) {
		t.Errorf("a later run makes another point: %v", again)
	}
	better := *h
	better.Lines = slices.Clone(h.Lines)
	for i := range better.Lines {
		better.Lines[i].Changes = nil
	}
	if got := Regressions(&better, "uid", v1alpha1.Device{}); len(got) != 0 {
		t.Errorf("regressions of a history without changes: %v", got)
	}
}
