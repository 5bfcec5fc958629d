package devicesample

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// learning is more than the frames that a tester sends in a row for the device to learn addresses: it does not count them, and the
// device may drop them.
const learning = 20

// CheckReadings expects that the device counted every lost frame of all rows, and no other but learning frames, or with Uncounted
// none of them.
func (c *Case) CheckReadings(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	for _, row := range rows {
		r := row.Readings
		switch {
		case r == nil || r.Unexplained == nil || r.Failed > 0:
			t.Errorf("%s %s: the device was not read: %+v", row.Variant, row.Test, r)
		case c.Uncounted && *r.Unexplained != r.Lost, !c.Uncounted && (*r.Unexplained != 0 || r.Counted > r.Lost+learning):
			t.Errorf("%s %s: the device counted %d of %d lost frames, and %d are unexplained: %+v: %s", row.Variant, row.Test, r.Counted, r.Lost, *r.Unexplained, r.Counters, row.Message)
		}
	}
}

// LimitedByTester reports whether a row is marked because the tester paused, or fell short: its losses may be the tester's.
func LimitedByTester(row v1alpha1.ResultRow) bool {
	return row.Validity == v1alpha1.ValidityGeneratorBound || row.Validity == v1alpha1.ValidityContended
}

// lostByTester returns how many frames of a row that is marked the tester may have lost or caused.
func lostByTester(row v1alpha1.ResultRow) int64 {
	if !LimitedByTester(row) {
		return 0
	}
	return row.Frames.OrZero().DoubtfulLost
}

// flowsOf returns the flows of a row by their names.
func flowsOf(row v1alpha1.ResultRow) map[string]v1alpha1.FlowSummary {
	flows := map[string]v1alpha1.FlowSummary{}
	for _, f := range row.Flows {
		flows[f.Name] = f
	}
	return flows
}

// dropsOnly returns a check: one variant drops all frames of one flow, and every other frame is received.
func dropsOnly(variant v1alpha1.VariantName, flow string) func(testing.TB, []v1alpha1.ResultRow) {
	return func(t testing.TB, rows []v1alpha1.ResultRow) {
		t.Helper()
		for _, row := range rows {
			for name, f := range flowsOf(row) {
				want := f.Sent
				if row.Variant == variant && name == flow {
					want = 0
				}
				if f.Sent == 0 || f.Received > want || f.Received < want-lostByTester(row) {
					t.Errorf("%s, %d B: flow %s: %d of %d frames were received, want %d", row.Variant, row.FrameSize, name, f.Received, f.Sent, want)
				}
			}
		}
	}
}

// checkLabels expects that all frames arrive, but for one direction where a flow is missing: the device names the flow that drops
// its frames.
func checkLabels(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	for _, row := range rows {
		sent, most := row.Frames.Sent, row.Frames.Sent
		if row.Variant == "missing" {
			most = sent / 2
			if r := row.Readings; r == nil || len(r.Counters) != 1 || r.Counters[0].Name != `drops by flow "priority=0" of br0` || r.Counters[0].Frames < most {
				t.Errorf("%s: %+v: want the flow that drops %d frames: %s", row.Variant, r, most, row.Message)
			}
		}
		if sent == 0 || row.Frames.Received > most || row.Frames.Received < most-lostByTester(row) {
			t.Errorf("%s: %d of %d frames were received, want %d: %s", row.Variant, row.Frames.Received, sent, most, row.Message)
		}
	}
}

// checkLinuxLabels expects that all frames arrive, but for one direction whose label is missing: the device names its frames.
func checkLinuxLabels(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	dropsOnly("missing", "back")(t, rows)
	for _, row := range rows {
		if r := row.Readings; row.Variant == "missing" && (r == nil || len(r.Counters) != 1 || r.Counters[0].Name != "input frames without a label route of e2" || r.Counters[0].Frames < row.Frames.Lost) {
			t.Errorf("%s: %+v: want %d frames without a label route: %s", row.Variant, r, row.Frames.Lost, row.Message)
		}
	}
}

// checkAccessLists expects the full throughput, but for the list with a gap, and that the last of 201 rules is later than the
// first.
func checkAccessLists(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	var latency []v1alpha1.ResultRow
	for _, row := range rows {
		if row.Test == "latency" {
			latency = append(latency, row)
			continue
		}
		want := int64(20_000)
		if row.Variant == "gap" {
			want = 0
		}
		// A tester that pauses finds less.
		if rate := row.Frames.LineRatePPM; rate > want || rate < want && !LimitedByTester(row) {
			t.Errorf("%s: the throughput is %d ppm of line rate, want %d", row.Variant, row.Frames.LineRatePPM, want)
		}
	}
	dropsOnly("gap", "back")(t, latency)
	lowest := map[v1alpha1.VariantName]int64{}
	for _, row := range latency {
		lowest[row.Variant] = row.Latency.MinNs
	}
	if lowest["last"] <= lowest["first"] {
		t.Errorf("the lowest latency is %v ns, want a higher one with the entry at the end of the list", lowest)
	}
}

// checkFilters expects that half of the frames arrive through filters that deny half of the networks.
func checkFilters(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	for _, row := range rows {
		share := 1.0
		switch {
		case strings.HasSuffix(string(row.Variant), "-deny"):
			share = 0.5
		case row.Variant == "entry-missing":
			share = 9.0 / 16
		}
		// Frames go to the networks in turn, and the last turn may be incomplete.
		if f := row.Frames; f.Sent == 0 || float64(f.Received)-share*float64(f.Sent) > 8 || share*float64(f.Sent)-float64(f.Received) > 8+float64(lostByTester(row)) {
			t.Errorf("%s %s: %d of %d frames were received, want %.2f %%", row.Variant, row.Test, f.Received, f.Sent, 100*share)
		}
	}
}

// checkMirror expects that rows name the ports without frames.
func checkMirror(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	for _, row := range rows {
		silent := map[v1alpha1.VariantName][]string{"plain": {"p3", "p4"}, "dead": {"p4"}}[row.Variant]
		var timed []string
		for _, port := range row.MulticastLatency {
			timed = append(timed, port.Port)
		}
		heard := slices.DeleteFunc([]string{"p2", "p3", "p4"}, func(port string) bool { return slices.Contains(silent, port) })
		if f := row.Frames; f.Sent == 0 || f.Lost < int64(len(silent))*f.Sent || f.Lost > int64(len(silent))*f.Sent+lostByTester(row) || !slices.Equal(timed, heard) || row.Multicast == nil || !slices.Equal(row.Multicast.SilentReceivers, silent) {
			t.Errorf("%s: %d frames sent and %d lost, latency of %v, want %v: %+v", row.Variant, f.Sent, f.Lost, timed, heard, row.Multicast)
		}
	}
}

// checkClasses expects the shares of the classes, within a point of the core, and no loss of the first one. A tester that catches up after
// a pause overflows the queue of a class.
func checkClasses(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	const frames = core * 1e6 / 8 / (512 - 4) // per second, without FCS
	for _, row := range rows {
		if LimitedByTester(row) {
			t.Logf("%s is not judged: %s: %v", row.Variant, row.Validity, row.ValidityReasons)
			continue
		}
		want, lossless := map[string]float64{"gold": 70, "silver": 20, "bronze": 5}, "gold"
		switch row.Variant {
		case "besteffort": // All three share the queue of what has no class.
			want, lossless = map[string]float64{"gold": 5 * 0.467, "silver": 5 * 0.333, "bronze": 1}, ""
		case "swapped": // Silver offers 50 % of the core.
			want, lossless = map[string]float64{"gold": 20, "silver": 50, "bronze": 5}, "silver"
		}
		for name, f := range flowsOf(row) {
			share := 100 * float64(f.ReceivedFramesPerSecond) / frames
			if math.Abs(share-want[name]) > 1 || (f.Lost == 0) != (name == lossless) {
				t.Errorf("%s: %s has %.2f %% of the core and lost %d of %d frames, want %.0f %%, and no loss of %q only", row.Variant, name, share, f.Lost, f.Sent, want[name], lossless)
			}
		}
	}
}

// checkAccessListScale expects that Linux delays frames with long lists, that a list without the network of one direction drops its frames
// with any number of entries, and that Linux rejects a list with the name of an interface that is too long.
func checkAccessListScale(t testing.TB, rows []v1alpha1.ResultRow) {
	t.Helper()
	for _, row := range rows {
		s := row.ConfigurationScale
		if s == nil {
			t.Errorf("%s: %s", row.Test, row.Message)
			continue
		}
		switch row.Test {
		case "latency":
			if s.Name != "acl" || s.Effect != v1alpha1.ScaleAddsLatency || *s.FailedAddedLatencyNs <= 60_000 || s.Entries >= s.FailedEntries || s.FailedEntries > 16384 || s.Entries > 0 && (*s.AddedLatencyNs > 60_000 || s.FailedEntries-s.Entries > 1024) {
				t.Errorf("%s: %+v: %s", row.Test, s, row.Message)
			}
		case "gap":
			if back := flowsOf(row)["back"]; s.Entries != 0 || s.FailedEntries != 2 || s.Effect != v1alpha1.ScaleLosesFrames || s.FailedLost != row.Frames.Lost || back.Sent == 0 || back.Received > 0 || row.Frames.Lost != back.Sent {
				t.Errorf("%s: %+v, %+v: %s", row.Test, s, back, row.Message)
			}
		default:
			if s.Entries != 0 || s.FailedEntries != 2 || s.Effect != v1alpha1.ScaleRejected || !strings.Contains(s.DeviceMessage, "Numerical result out of range") || row.Frames.Lost > 0 {
				t.Errorf("%s: %+v: %s", row.Test, s, row.Message)
			}
		}
	}
}
