package report

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Delays of groups and reset times have columns of their own, the ports' delays a
// note, and what is lost during a reset is not said twice.
func TestGroupsAndResets(t *testing.T) {
	row := func(m v1alpha1.Method) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: strings.ToLower(string(m)), Method: m, FrameSize: 64, Load: "10%"}, Frames: &v1alpha1.FrameSection{LineRatePPM: 100_000, FramesPerSecond: 1, Sent: 10, Received: 10}, Validity: v1alpha1.ValidityValid}
	}
	join, capacity, reset := row(v1alpha1.MethodGroupJoinDelay), row(v1alpha1.MethodGroupCapacity), row(v1alpha1.MethodReset)
	join.GroupDelay = &v1alpha1.GroupDelaySummary{Groups: 1, Receivers: 18, MinNs: 1_500, AvgNs: 2_000, MaxNs: 2_500, ResolutionNs: 672}
	for range 18 {
		join.GroupDelay.Ports = append(join.GroupDelay.Ports, v1alpha1.PortDelay{Port: "px", AvgNs: 2_000})
	}
	capacity.GroupCapacity = &v1alpha1.GroupCapacitySummary{Groups: 1000, FailedGroups: 1001, MulticastRoutes: 4000, Receivers: 3}
	reset.Frames.Lost, reset.Reset = 5, &v1alpha1.ResetSummary{MinNs: 42_000_000_000, AvgNs: 42_000_500_000, MaxNs: 42_001_000_000, AvgLost: 1234, FrameLossAvgNs: new(int64(42_000_500_000)), TimestampAvgNs: new(int64(42_000_500_135))}
	d := &Document{Rows: []v1alpha1.ResultRow{join, capacity, reset}}
	text := d.Text()
	for _, want := range []string{
		"1     18  1.500  2.000  2.500     0.672       -  Valid",
		"64 B: average by port: px 2.000 us, px 2.000 us,", "and 2 more ports",
		"1,000         1,001   4,000      3       0  Valid",
		"reset time, s", "by frame loss, s  by time stamps, s", "42.000  42.001  42.001",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "lost 5 of") {
		t.Errorf("the loss of a reset is said twice in\n%s", text)
	}
	if page, err := d.html(); err != nil || !strings.Contains(string(page), "Average by port: px 2.000 µs, px 2.000 µs,") {
		t.Errorf("%v: no µs in the notes of\n%s", err, page)
	}
	if markdown, err := d.markdown(); err != nil || !strings.Contains(string(markdown), "reset time min, s | reset time avg, s") {
		t.Errorf("%v\n%s", err, markdown)
	}
}

// Classes of a mixed pattern have lines in a table of their own, and a row without them none.
// Rates of many receivers say that they are.
func TestClassesOfARow(t *testing.T) {
	row := v1alpha1.ResultRow{
		RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64}, Validity: v1alpha1.ValidityValid,
		Frames: &v1alpha1.FrameSection{Sent: 2000, Received: 4000, LineRatePPM: 1},
		Classes: &v1alpha1.ClassesSummary{
			Multicast: v1alpha1.ClassSummary{Sent: 1000, Received: 3000, OfferedFramesPerSecond: 500, ReceivedFramesPerSecond: 1501, PortLoad: &v1alpha1.PortLoad{LowestPPM: 400_000, HighestPPM: 400_000}},
			Unicast:   v1alpha1.ClassSummary{Sent: 1002, Received: 1000, OfferedFramesPerSecond: 502, ReceivedFramesPerSecond: 501, Lost: 2},
		},
		Multicast: &v1alpha1.MulticastSummary{Groups: 1, Receivers: 3},
	}
	other := row
	other.FrameSize, other.Classes, other.Multicast = 128, nil, nil
	text := (&Document{Rows: []v1alpha1.ResultRow{row, other}}).Text()
	for _, want := range []string{"offered to all receivers", "  Traffic classes", "multicast  64 B       500              40.0000     1,501       0\n", "unicast    64 B       502                    -       501       2\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := (&Document{Rows: []v1alpha1.ResultRow{other}}).Text(); strings.Contains(text, "multicast") || strings.Contains(text, "Traffic classes") || strings.Contains(text, "receivers") {
		t.Errorf("classes of unicast in\n%s", text)
	}
}

// What each group received stands below the table, and a loss is reported of all that
// the receivers should have got.
func TestGroupsOfARow(t *testing.T) {
	row := v1alpha1.ResultRow{
		RowID:     v1alpha1.RowID{Method: v1alpha1.MethodThroughput},
		Frames:    &v1alpha1.FrameSection{Sent: 100, Received: 390, Lost: 10, Duplicate: new(int64), Reordered: new(int64)},
		Multicast: &v1alpha1.MulticastSummary{Groups: 2, Receivers: 4, MinFramesPerSecond: 1900, MaxFramesPerSecond: 2000},
	}
	for i := range int64(18) {
		row.MulticastLatency = append(row.MulticastLatency, v1alpha1.PortLatency{Port: "px", AvgNs: 2_000 + 10*i})
	}
	if got := rowNotes(row); len(got) != 3 || !strings.HasPrefix(got[1], "multicast latency, average by port: px 2.000 us, px 2.010 us,") || !strings.HasSuffix(got[1], "px 2.150 us and 2 more ports; max/min 0.170 us") {
		t.Errorf("%q", got)
	}
	row.MulticastLatency = row.MulticastLatency[:1]
	want := []string{"each of 2 groups received 1,900 to 2,000 frames/s at its 4 receivers together", "lost 10 of 400 frames (2.5%)"}
	if got := rowNotes(row); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	row.Frames.Lost, row.Multicast.Receivers, row.Multicast.MinFramesPerSecond = 0, 1, 2000
	if got := rowNotes(row); !slices.Equal(got, []string{"each of 2 groups received 2,000 frames/s"}) {
		t.Errorf("%q", got)
	}
	row.Multicast.Groups = 1
	if got := rowNotes(row); len(got) > 0 {
		t.Errorf("%q: one group is the whole row", got)
	}
}
