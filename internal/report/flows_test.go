package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// withFlows is a document of a row with two flows, of which one was timed, and of a row
// without.
func withFlows() *Document {
	row := v1alpha1.ResultRow{
		RowID: v1alpha1.RowID{Test: "t", Method: v1alpha1.MethodThroughput, FrameMix: v1alpha1.FlowsSize}, Frames: &v1alpha1.FrameSection{},
		Flows: []v1alpha1.FlowSummary{
			{Name: "voice-up", ClassSummary: v1alpha1.ClassSummary{Sent: 1000, Received: 998, Lost: 2, OfferedFramesPerSecond: 500, ReceivedFramesPerSecond: 499},
				Latency: &v1alpha1.FlowLatency{MinNs: 1000, AvgNs: 2500, MaxNs: 4000}},
			{Name: "bulk", ClassSummary: v1alpha1.ClassSummary{Sent: 77, Received: 77, OfferedFramesPerSecond: 38, ReceivedFramesPerSecond: 38}},
		},
	}
	other := row
	other.FrameSize, other.FrameMix, other.Flows = 128, "", nil
	return &Document{Rows: []v1alpha1.ResultRow{row, other}}
}

// Flows have columns with what was sent and lost of each.
func TestFlowsOfARow(t *testing.T) {
	text := withFlows().Text()
	for _, want := range []string{"voice-up", "bulk", "  flows", "1,000       499     2    2.500", "77        38     0        -", "-         -     -        -     -         -     -        -"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
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
	last := func(line []string) string { return strings.Join(line[len(line)-16:], ",") }
	each := func(name string) string {
		var columns []string
		for _, c := range []string{"sent", "received", "lost", "offered_frames_per_second", "received_frames_per_second", "latency_min_ns", "latency_avg_ns", "latency_max_ns"} {
			columns = append(columns, "flow_"+name+"_"+c)
		}
		return strings.Join(columns, ",")
	}
	for i, want := range []string{each("voice_up") + "," + each("bulk"), "1000,998,2,500,499,1000,2500,4000,77,77,0,38,38,,,", strings.Repeat(",", 15)} {
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
