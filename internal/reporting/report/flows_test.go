package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// withFlows is a document of a row with two flows, of which one was timed and has a size of
// its own, and of a row without. One port offers 6 % of its line rate, and the other 24 %.
func withFlows() *Document {
	row := v1alpha1.ResultRow{
		RowID: v1alpha1.RowID{Test: "t", Method: v1alpha1.MethodThroughput, FrameSize: 512},
		Frames: &v1alpha1.FrameSection{
			LineRatePPM: 300_000, FramesPerSecond: 538, BitsPerSecond: 538 * 1000, OfferedFramesPerSecond: 538,
			PortLoad: &v1alpha1.PortLoad{LowestPPM: 60_000, HighestPPM: 240_000},
		},
		Flows: []v1alpha1.FlowSummary{
			{Name: "voice-up", ClassSummary: v1alpha1.ClassSummary{Sent: 1000, Received: 998, Lost: 2, OfferedFramesPerSecond: 500, ReceivedFramesPerSecond: 499, PortLoad: &v1alpha1.PortLoad{LowestPPM: 30_000, HighestPPM: 40_000}},
				Latency: &v1alpha1.FlowLatency{MinNs: 1000, AvgNs: 2500, MaxNs: 4000, P50Ns: 2100, P90Ns: 3000, P99Ns: 3500, P999Ns: 3900}},
			{Name: "bulk", ClassSummary: v1alpha1.ClassSummary{Sent: 77, Received: 77, OfferedFramesPerSecond: 38, ReceivedFramesPerSecond: 38, PortLoad: &v1alpha1.PortLoad{LowestPPM: 200_000, HighestPPM: 200_000}}},
		},
	}
	other := row
	other.FrameSize, other.Flows = 128, nil
	return &Document{
		Rows:    []v1alpha1.ResultRow{row, other},
		Profile: &v1alpha1.TrafficProfileSpec{Flows: []v1alpha1.TrafficFlow{{Name: "voice-up", FrameSize: new(int32(218))}, {Name: "bulk"}}},
	}
}

// Flows have lines in a table of their own, with their own frame size, and the main table
// names the flow whose size it has.
func TestFlowsOfARow(t *testing.T) {
	text := withFlows().Text()
	for _, want := range []string{
		"  Flows\n", " bulk   intended, %  ",
		"voice-up  512 B    218       500        3.0000-4.0000       499     92.84       2  2.500  2.10  3.50   3.90  4.000\n",
		"bulk      512 B    512        38              20.0000        38      7.16       0      -     -     -      -      -\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The table of a throughput of 0 has no load and no latency of the trial that failed.
func TestFlowsOfAThroughputOfZero(t *testing.T) {
	d := withFlows()
	d.Rows = d.Rows[:1]
	d.Rows[0].Frames, d.Rows[0].Flows[0].Latency = &v1alpha1.FrameSection{}, nil
	text := d.Text()
	const want = "voice-up  512 B    218         -                    -       499     92.84       2\n"
	if !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// Where ports offer other shares of their line rate than the load says, every format shows
// what they offer and what the load is a share of.
func TestLoadsOfPartsOfLineRate(t *testing.T) {
	d := withFlows()
	d.Phase = v1alpha1.PhaseMeasured
	for i := range d.Rows {
		d.Rows[i].Validity = v1alpha1.ValidityValid
		d.Rows[i].Frames.Sent, d.Rows[i].Frames.Received = 1077, 1077
	}
	for format, wants := range map[Format][]string{
		FormatTable:    {"intended, %", "of full load", "% of line by sender", "30.0000", "  6.0000-24.0000"},
		FormatMarkdown: {"intended of full load, %", "offered % of line rate by sender", "| 30.0000 |", "| 6.0000-24.0000 |"},
		FormatHTML: {
			"intended, % of full load", "% of line rate by sender</th>", ">6.0000–24.0000</td>",
			"6.0000 – 24.0000% of line rate by sender", ">% of full load</text>",
		},
	} {
		var b bytes.Buffer
		if err := d.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", format, want, unstyled(b.String()))
			}
		}
		if strings.Contains(b.String(), "30.0000% of line") {
			t.Errorf("%s: no port offers 30 %% of its line rate", format)
		}
	}
	const want = "t 512 B: 538 frames/s, 0.538 Mbit/s, 6.0000-24.0000% of line rate by sender, 30.0000% of full load, Valid"
	if got := RowLine(d.Rows[0]); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// The report says what the ports send at full load.
func TestFullLoad(t *testing.T) {
	d := withFlows()
	oneWay := func(from, to string) v1alpha1.Pattern {
		return v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{from}, Receivers: []string{to}}}
	}
	d.Profile.Flows = []v1alpha1.TrafficFlow{{Name: "voice-up", Share: "80%", Pattern: oneWay("p2", "p1")}, {Name: "bulk", Share: "20%", Pattern: oneWay("p1", "p2")}}
	d.Bed = &v1alpha1.TestBedSpec{Engine: v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}}
	const want = "20% of line rate on p1, 80% on p2"
	if got := d.fullLoad(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if text := d.Text(); !strings.Contains(text, "Full load  "+want) {
		t.Errorf("no full load in\n%s", text)
	}
	d.Profile.Flows[0].Pattern, d.Profile.Flows[1].Share = oneWay("p1", "p2"), "20%"
	if got := d.fullLoad(); got != "" {
		t.Errorf("%q where the only sender is at line rate", got)
	}
}

// In CSV every flow has columns of its own behind all others, which are empty for rows
// without it.
func TestFlowsInCSV(t *testing.T) {
	var b bytes.Buffer
	if err := withFlows().Write(&b, FormatCSV); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	last := func(line []string) string { return strings.Join(line[len(line)-28:], ",") }
	each := func(name string) string {
		var columns []string
		for _, c := range []string{"sent", "received", "lost", "offered_frames_per_second", "received_frames_per_second", "port_load_lowest_ppm", "port_load_highest_ppm",
			"latency_min_ns", "latency_avg_ns", "latency_max_ns", "latency_p50_ns", "latency_p90_ns", "latency_p99_ns", "latency_p999_ns"} {
			columns = append(columns, "flow_"+name+"_"+c)
		}
		return strings.Join(columns, ",")
	}
	for i, want := range []string{each("voice_up") + "," + each("bulk"), "1000,998,2,500,499,30000,40000,1000,2500,4000,2100,3000,3500,3900,77,77,0,38,38,200000,200000,,,,,,,", strings.Repeat(",", 27)} {
		if got := last(lines[i]); got != want {
			t.Errorf("line %d ends with\n%s, want\n%s", i, got, want)
		}
	}
}

// The line about the traffic names every flow with its share, size and headers.
func TestTrafficOfFlows(t *testing.T) {
	size, dscp := int32(218), int32(46)
	d := &Document{Profile: &v1alpha1.TrafficProfileSpec{Flows: []v1alpha1.TrafficFlow{
		{Name: "voice", Share: "10%", FrameSize: &size, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}, DSCP: &dscp}},
		{Name: "raw", Share: "1.5%", Pattern: v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}, Packet: v1alpha1.Packet{Custom: &v1alpha1.CustomPacket{Hex: "88f7 00"}, Payload: v1alpha1.PayloadOnes}},
	}}}
	const want = "flow voice, 10% of the load, 218 B: IPv4/UDP, port pairs in both directions, DSCP 46; " +
		"flow raw, 1.5% of the load: 3 custom bytes 88f700, full mesh (RFC 2889 section 5.1), payload ones"
	if got := d.traffic(); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
