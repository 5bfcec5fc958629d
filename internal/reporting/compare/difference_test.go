package compare

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// twoVariants are rows of a device that is slower in its second variant, and
// whose highest latency falls there while the mean rises.
func twoVariants() []v1alpha1.ResultRow {
	row := func(variant v1alpha1.VariantName, test string, method v1alpha1.Method, load v1alpha1.Load, fps, avg, highest int64) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{
			RowID:    v1alpha1.RowID{Test: test, Variant: variant, Method: method, FrameSize: 64, Load: load},
			Frames:   &v1alpha1.FrameSection{FramesPerSecond: fps, OfferedFramesPerSecond: fps, LineRatePPM: fps, Sent: 10, Received: 10},
			Latency:  &v1alpha1.LatencySummary{MinNs: 100, AvgNs: avg, MaxNs: highest, JitterAvgNs: new(int64(7)), JitterMaxNs: new(int64(70))},
			Validity: v1alpha1.ValidityValid,
		}
	}
	return []v1alpha1.ResultRow{
		row("off", "throughput", v1alpha1.MethodThroughput, "", 1000, 200, 900),
		row("off", "latency", v1alpha1.MethodLatency, "50%", 500, 150, 500),
		row("on", "throughput", v1alpha1.MethodThroughput, "", 900, 230, 800),
		row("on", "latency", v1alpha1.MethodLatency, "50%", 500, 180, 500),
	}
}

func TestDifferencesOfVariants(t *testing.T) {
	all := Differences([]v1alpha1.VariantName{"off", "on"}, twoVariants())
	if len(all) != 2 {
		t.Fatalf("%d differences, want one for each row of the second variant", len(all))
	}
	first, second := all[0], all[1]
	if first.Variant != "on" || first.Baseline != "off" || first.Test != "throughput" || second.Load != "50%" {
		t.Errorf("%+v", all)
	}
	is := func(name string, got *int64, want int64) {
		t.Helper()
		if got == nil || *got != want {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	is("throughput", first.Deltas.FramesPerSecond, -100)
	is("throughput in ppm", first.Deltas.FramesPerSecondPPM, -100_000)
	is("lowest latency", first.Deltas.LatencyMinNs, 0)
	is("mean latency", first.Deltas.LatencyAvgNs, 30)
	is("highest latency", first.Deltas.LatencyMaxNs, -100)
	is("mean jitter", first.Deltas.JitterAvgNs, 0)
	is("highest jitter", first.Deltas.JitterMaxNs, 0)
	is("mean latency at 50%", second.Deltas.LatencyAvgNs, 30)
	if second.Deltas.FramesPerSecond != nil {
		t.Error("a test at a given load has a difference of the load found")
	}
	if !slices.Equal(first.Notes, []string{"measured at different loads: off at 0.1%, on at 0.09%"}) || second.Notes != nil {
		t.Errorf("notes %q and %q", first.Notes, second.Notes)
	}
}

// A difference that is not credible is left out, with a reason.
func TestNoDifferences(t *testing.T) {
	variants := []v1alpha1.VariantName{"off", "on"}
	for name, tc := range map[string]struct {
		change func(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow
		note   string
	}{
		"tester too slow": {func(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow {
			rows[3].Validity, rows[3].ValidityReasons = v1alpha1.ValidityGeneratorBound, []string{"p1 fell short"}
			return rows
		}, "on: GeneratorBound: p1 fell short"},
		"frames lost": {func(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow {
			rows[1].Frames.Lost = 1
			return rows
		}, "off: frames were lost at this load"},
		"row not there": {func(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow { return rows[:3] }, "on: no such row"},
	} {
		t.Run(name, func(t *testing.T) {
			all := Differences(variants, tc.change(twoVariants()))
			if len(all) != 2 || all[1].Deltas != (Deltas{}) || len(all[1].Notes) != 1 || !strings.Contains(all[1].Notes[0], tc.note) {
				t.Errorf("%+v, want no difference, and the note %q", all[1:], tc.note)
			}
		})
	}
	if all := Differences(variants, twoVariants()[:2]); all != nil {
		t.Errorf("%+v of a variant that was not measured", all)
	}
	if all := Differences(variants[:1], twoVariants()); all != nil {
		t.Errorf("%+v of one variant", all)
	}
}

// What a method measures itself is compared in the unit of its column.
func TestDifferencesOfAMethodsOwnNumbers(t *testing.T) {
	row := func(variant v1alpha1.VariantName, loss int64) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "loss", Variant: variant, Method: v1alpha1.MethodFrameLoss, FrameSize: 64, Load: "100%"}, Frames: &v1alpha1.FrameSection{Sent: 1000, Received: 1000, LossPPM: &loss}, Validity: v1alpha1.ValidityValid}
	}
	all := Differences([]v1alpha1.VariantName{"off", "on"}, []v1alpha1.ResultRow{row("off", 5000), row("on", 2000)})
	if len(all) != 1 {
		t.Fatal(all)
	}
	found := false
	for _, f := range all[0].Figures {
		if f.Unit == "ppm" {
			found = f.Difference != nil && *f.Difference == -3000
		}
	}
	if !found {
		t.Errorf("%+v, want a loss that is 3000 ppm lower", all[0].Figures)
	}
}

// Results with variants are compared variant by variant.
func TestComparisonKeepsVariantsApart(t *testing.T) {
	c, err := Make([]Result{{Subject: Subject{Name: "a"}, Rows: twoVariants()}, {Subject: Subject{Name: "b"}, Rows: twoVariants()}})
	if err != nil {
		t.Fatal(err)
	}
	// Throughput and two latencies of the one test, two latencies of the other.
	if len(c.Lines) != 10 || len(c.Scores) != 10 {
		t.Fatalf("%d lines, %d scores, want 10 each", len(c.Lines), len(c.Scores))
	}
	for _, l := range c.Lines {
		if l.Variant == "" || *l.Cells[0].Value != *l.Cells[1].Value {
			t.Errorf("%+v", l)
		}
	}
}
