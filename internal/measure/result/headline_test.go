package result

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
)

// rowAt is a row of a test at a frame size.
func rowAt(test string, m v1alpha1.Method, size int32, change ...func(*v1alpha1.ResultRow)) v1alpha1.ResultRow {
	row := v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: test, Method: m, FrameSize: size},
		Validity: v1alpha1.ValidityValid, Frames: &v1alpha1.FrameSection{Sent: 100, Received: 100},
	}
	for _, f := range change {
		f(&row)
	}
	return row
}

func passing(ppm int64) func(*v1alpha1.ResultRow) {
	return func(row *v1alpha1.ResultRow) {
		row.Frames.LineRatePPM, row.Frames.FramesPerSecond, row.Frames.OfferedFramesPerSecond = ppm, ppm, ppm
	}
}

// delayed is a latency row: its load, the average and how many frames were lost.
func delayed(load v1alpha1.Load, ppm, avgNs, lost int64) func(*v1alpha1.ResultRow) {
	return func(row *v1alpha1.ResultRow) {
		row.Load, row.Frames.LineRatePPM, row.Frames.Lost = load, ppm, lost
		row.Latency = &v1alpha1.LatencySummary{MinNs: 1, AvgNs: avgNs, MaxNs: 2 * avgNs}
	}
}

func TestHeadlines(t *testing.T) {
	throughput, latency := v1alpha1.MethodThroughput, v1alpha1.MethodLatency
	losing := func(load v1alpha1.Load, ppm, lossPPM int64) func(*v1alpha1.ResultRow) {
		return func(row *v1alpha1.ResultRow) {
			row.Load, row.Frames.LineRatePPM, row.Frames.LossPPM, row.Frames.Lost = load, ppm, &lossPPM, lossPPM
		}
	}
	for name, tc := range map[string]struct {
		rows []v1alpha1.ResultRow
		want string
	}{
		"no rows": {nil, ""},
		"throughput": {
			[]v1alpha1.ResultRow{rowAt("t", throughput, 64, passing(580_000)), rowAt("t", throughput, 512, passing(999_940)), rowAt("t", throughput, 1518, passing(1_000_000))},
			"t: 64 B 58%, 512 B 99.994%, 1518 B 100%",
		},
		"sizes that say the same": {
			[]v1alpha1.ResultRow{rowAt("t", throughput, 64, passing(580_000)), rowAt("t", throughput, 128, passing(1_000_000)), rowAt("t", throughput, 256, passing(1_000_000)), rowAt("t", throughput, 512, passing(1_000_000))},
			"t: 64 B 58%, 128 B to 512 B 100%",
		},
		"a partial drop rate is not the throughput": {
			[]v1alpha1.ResultRow{rowAt("t", throughput, 64, passing(580_000)), rowAt("t", v1alpha1.MethodPartialDropRate, 64, passing(620_000), func(row *v1alpha1.ResultRow) { row.LossRatioPPM = 5000 })},
			"t: 64 B 58%",
		},
		"a mix, and doubt": {
			[]v1alpha1.ResultRow{rowAt("t", throughput, 0, passing(580_000), func(row *v1alpha1.ResultRow) { row.FrameMix, row.Validity = "imix", v1alpha1.ValidityGeneratorBound })},
			"t: mix imix 58% (GeneratorBound)",
		},
		"latency at the highest load without loss": {
			[]v1alpha1.ResultRow{rowAt("l", latency, 64, delayed("10%", 100_000, 1_500, 0)), rowAt("l", latency, 64, delayed("50%", 500_000, 2_377, 0)), rowAt("l", latency, 64, delayed("90%", 900_000, 9_000_000, 7))},
			"l: 64 B 2.377 us at 50%",
		},
		"latency when all loads lose": {
			[]v1alpha1.ResultRow{rowAt("l", latency, 64, delayed("10%", 100_000, 1_500_000, 1)), rowAt("l", latency, 64, delayed("50%", 500_000, 1_234_567_890, 7))},
			"l: 64 B 1.235 s at 50%",
		},
		"loss": {
			[]v1alpha1.ResultRow{rowAt("f", v1alpha1.MethodFrameLoss, 64, losing("100%", 1_000_000, 550_000)), rowAt("f", v1alpha1.MethodFrameLoss, 64, losing("90%", 900_000, 0)), rowAt("f", v1alpha1.MethodFrameLoss, 512, losing("100%", 1_000_000, 0))},
			"f: 64 B 55% lost at 100%, 512 B none lost at 100%",
		},
		"not measured": {
			[]v1alpha1.ResultRow{rowAt("b", v1alpha1.MethodBackToBack, 64)},
			"b: 64 B not measured",
		},
		"capacity": {
			[]v1alpha1.ResultRow{
				rowAt("a", v1alpha1.MethodAddressCaching, 64, func(row *v1alpha1.ResultRow) {
					row.AddressCaching = &v1alpha1.AddressCachingSummary{Addresses: 8191, ExceededAt: 8192}
				}),
				rowAt("g", v1alpha1.MethodGroupCapacity, 64, func(row *v1alpha1.ResultRow) { row.GroupCapacity = &v1alpha1.GroupCapacitySummary{Groups: 1024} }),
			},
			"a: 64 B 8,191 addresses | g: 64 B at least 1,024 groups",
		},
		"a method's own column": {
			[]v1alpha1.ResultRow{rowAt("h", v1alpha1.MethodHeadOfLineBlocking, 64, func(row *v1alpha1.ResultRow) {
				row.HeadOfLineBlocking = &v1alpha1.HeadOfLineBlockingSummary{Blocking: new(bool)}
			})},
			"h: 64 B head of line blocking: no",
		},
		"without frames": {
			[]v1alpha1.ResultRow{{RowID: v1alpha1.RowID{Test: "routes", Method: "RouteCapacity"}, Validity: v1alpha1.ValidityValid}},
			"routes: not measured",
		},
		"variants": {
			[]v1alpha1.ResultRow{
				rowAt("t", throughput, 64, passing(1_000_000), func(row *v1alpha1.ResultRow) { row.Variant = "fec-off" }),
				rowAt("t", throughput, 64, passing(900_000), func(row *v1alpha1.ResultRow) { row.Variant = "fec-on" }),
			},
			"t: fec-off: 64 B 100%; fec-on: 64 B 90%",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, h := range Headlines(tc.rows) {
				got = append(got, h.Test+": "+h.Text)
			}
			if text := strings.Join(got, " | "); text != tc.want {
				t.Errorf("%q, want %q", text, tc.want)
			}
		})
	}
}

// Many sizes are a range, and however many variants there are, a headline stays
// within its bound.
func TestHeadlinesAreBounded(t *testing.T) {
	var rows []v1alpha1.ResultRow
	for size := range int32(64) {
		rows = append(rows, rowAt("t", v1alpha1.MethodThroughput, 64+size, passing(500_000+int64(size)*1111)))
	}
	if got, want := Headlines(rows)[0].Text, "50% at 64 B to 56.9993% at 127 B, 64 sizes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var many []v1alpha1.ResultRow
	for variant := range 16 {
		for _, row := range rows {
			row.Variant = v1alpha1.VariantName(fmt.Sprintf("%s-%d", strings.Repeat("v", 60), variant))
			row.FrameSize, row.FrameMix = 0, fmt.Sprintf("%s-%d", strings.Repeat("m", 60), row.FrameSize)
			many = append(many, row)
		}
	}
	text := Headlines(many)[0].Text
	if len(text) > maxHeadline || !strings.HasSuffix(text, " more variants") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestDurationsAreRounded(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0.000 us", 2_377: "2.377 us", 999_999: "999.999 us", 1_234_567: "1.235 ms", 1_500_000_000: "1.500 s", 3_600_000_000_000: "3,600.000 s",
	} {
		if got := trials.TimeText(ns); got != want {
			t.Errorf("%d ns is %q, want %q", ns, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	row := func(v v1alpha1.Validity) v1alpha1.ResultRow { return v1alpha1.ResultRow{Validity: v} }
	rows := []v1alpha1.ResultRow{row(v1alpha1.ValidityInvalid), row(v1alpha1.ValidityValid), row(v1alpha1.ValiditySimulated), row(v1alpha1.ValidityVirtual), row(v1alpha1.ValidityValid)}
	want := []v1alpha1.ValidityCount{{Validity: v1alpha1.ValidityValid, Rows: 2}, {Validity: v1alpha1.ValidityVirtual, Rows: 1}, {Validity: v1alpha1.ValiditySimulated, Rows: 1}, {Validity: v1alpha1.ValidityInvalid, Rows: 1}}
	if got := Count(rows); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Count(slices.Clip(rows[:0])); got != nil {
		t.Errorf("%v of no rows", got)
	}
}
