package report

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// collapsing is the result of an incast whose goodput collapses from 4 servers on.
func collapsing() *Document {
	d := &Document{Phase: v1alpha1.PhaseMeasured}
	d.Profile = &v1alpha1.TrafficProfileSpec{Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	d.Environment = &v1alpha1.ResultEnvironment{LatencyType: "FILO"}
	d.Spec.Tests = []v1alpha1.Test{{Name: "incast", Incast: &v1alpha1.IncastTest{Servers: []int32{1, 4}, Iterations: 100, MTU: 9000}}}
	from := int64(4)
	for n, goodput := range map[int32]int64{1: 8_686_300_000, 4: 606_500_000} {
		row := v1alpha1.ResultRow{
			RowID: v1alpha1.RowID{Test: "incast", Method: v1alpha1.MethodIncast, Servers: n}, Validity: v1alpha1.ValiditySimulated, ElapsedMilliseconds: 26_740,
			Incast: &v1alpha1.IncastSummary{GoodputBitsPerSecond: goodput},
		}
		if n >= 4 {
			row.Incast.CollapsedFrom = &from
		}
		d.Rows = append(d.Rows, row)
	}
	if d.Rows[0].Servers != 1 {
		d.Rows[0], d.Rows[1] = d.Rows[1], d.Rows[0]
	}
	return d
}

// A report of a workload describes no frames of the profile, no trials, and no figures of frames.
func TestReportOfAWorkload(t *testing.T) {
	t.Parallel()
	d := collapsing()
	for _, format := range []Format{FormatTable, FormatHTML, FormatMarkdown} {
		text, _, _ := strings.Cut(written(t, d, format), "To repeat this")
		for _, wrong := range []string{"every trial", "After each trial", "port pairs", "0 trials", "FILO", "not one frame is lost", "All 2 rows"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s contains %q", format, wrong)
			}
		}
	}
	html := written(t, d, FormatHTML)
	for _, want := range []string{
		"From 4 servers on the goodput of one client collapses: it is 8,686.3 Mbit/s with 1 server, and 606.5 Mbit/s with 4 servers.",
		"Goodput by number of servers", "4 servers: 606.5 Mbit/s. ", "2 rows, 53.48 s", "Both rows are Simulated",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	d.Rows[1].Incast.Stateless = &v1alpha1.StatelessFrames{LoadPPM: 200_000, LossPPM: 12_300, SharePPM: 250_000, Latency: &v1alpha1.LatencySummary{AvgNs: 150_000, P99Ns: 380_000, MaxNs: 400_000}}
	html = written(t, d, FormatHTML)
	for _, want := range []string{"Of the stateless frames at 20%, up to 1.23% are lost, with 4 servers, and the others take 150.000 µs on average and 400.000 µs at most.", "% of port", "380.000"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page of frames next to an incast has no %q: %q", want, d.summary())
		}
	}
	d.Rows[1].Incast.Stateless = nil
	for i := range d.Rows {
		d.Rows[i].Incast.CollapsedFrom = nil
	}
	if want := "The goodput of one client does not collapse: it is 606.5 Mbit/s with 4 servers to 8,686.3 Mbit/s with 1 server."; d.summary()[0] != want {
		t.Errorf("%q, want %q", d.summary()[0], want)
	}
	// A test with frames in the same benchmark brings all of it back.
	d.Spec.Tests = append(d.Spec.Tests, v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{}})
	d.Rows = append(d.Rows, v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "loss", Method: v1alpha1.MethodFrameLoss, FrameSize: 64}, Validity: v1alpha1.ValiditySimulated, Trials: 1, Frames: &v1alpha1.FrameSection{Sent: 1, Received: 1}})
	html = written(t, d, FormatHTML)
	for _, want := range []string{"After each trial", "port pairs", "3 rows in 1 trial", "FILO", "not one frame is lost", "every trial: "} {
		if !strings.Contains(html, want) {
			t.Errorf("the page of two tests has no %q", want)
		}
	}
}

// Durations in the appendix of a page have a space, as everywhere else.
func TestSpaced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"9m16s of simulated time": "9 min 16 s of simulated time", "up to 1µs of added": "up to 1 µs of added", "every 100ms": "every 100 ms",
		"p1: 10G, 02:00:5e:00:00:00": "p1: 10G, 02:00:5e:00:00:00",
	} {
		if got := spaced(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A device that received a part of a block holds more routes than its full blocks have: the sentence gives the
// range in which its limit is.
func TestSentenceOfAFullTable(t *testing.T) {
	t.Parallel()
	d := &Document{Rows: []v1alpha1.ResultRow{{
		RowID: v1alpha1.RowID{Test: "capacity", Method: v1alpha1.MethodRouteCapacity}, Validity: v1alpha1.ValidityValid,
		RouteCapacity: &v1alpha1.RouteCapacitySummary{Routes: 240_000, Announced: 280_000, Received: 250_000, Full: true},
	}}}
	if got, want := d.summary()[0], "The device holds 240,000 routes, and not all of 280,000."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Routes that flap have another way: the loss until the device takes it is not of frames without a route.
func TestLossOfFramesWithoutRoute(t *testing.T) {
	t.Parallel()
	none := int64(0)
	d := &Document{Rows: []v1alpha1.ResultRow{{
		RowID: v1alpha1.RowID{Test: "flap", Method: v1alpha1.MethodRouteFlap, FrameSize: 64}, Validity: v1alpha1.ValidityValid,
		Frames: &v1alpha1.FrameSection{Sent: 9, Received: 5, Lost: 4, LostByEvent: &none}, RouteFlap: &v1alpha1.RouteFlapSummary{FlappedLost: 4},
	}}}
	if text := written(t, d, FormatHTML); !strings.Contains(text, "without route") || strings.Contains(text, "by events") {
		t.Error("the columns of lost frames do not name frames without route")
	}
}
