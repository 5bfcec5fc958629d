package compare

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func throughputRow(size int32, fps, avgNs, maxNs int64) v1alpha1.ResultRow {
	return v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: size}, Frames: &v1alpha1.FrameSection{FramesPerSecond: fps, OfferedFramesPerSecond: fps, LineRatePPM: fps, Sent: 10 * fps, Received: 10 * fps}, Validity: v1alpha1.ValidityValid,
		Latency: &v1alpha1.LatencySummary{MinNs: 1, AvgNs: avgNs, MaxNs: maxNs}}
}

func named(name string, rows ...v1alpha1.ResultRow) Result {
	return Result{Subject: Subject{Name: name}, Rows: rows}
}

// line compares results, and returns the first line of a metric.
func line(t *testing.T, metric Metric, results ...Result) Line {
	t.Helper()
	c, err := Make(results)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range c.Lines {
		if l.Metric == metric {
			return l
		}
	}
	t.Fatalf("no line of %s", metric)
	return Line{}
}

func ranks(l Line) string {
	var texts []string
	for _, c := range l.Cells {
		text := fmt.Sprint(c.Rank)
		if c.Tied {
			text += "="
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ") + " " + strings.Join(l.Winners, "+")
}

func TestRanks(t *testing.T) {
	results := func(fps ...int64) []Result {
		var all []Result
		for i, f := range fps {
			r := named(string(rune('a'+i)), throughputRow(64, f, f, f))
			r.ResolutionPPM = func(*v1alpha1.ResultRow) int64 { return 1000 }
			all = append(all, r)
		}
		return all
	}
	tests := map[string]struct {
		metric Metric
		values []int64
		want   string
	}{
		"more frames are better":           {Throughput, []int64{500_000, 700_000, 600_000}, "3 1 2 b"},
		"less latency is better":           {LatencyAvg, []int64{500_000, 700_000, 600_000}, "1 3 2 a"},
		"tie of the best":                  {LatencyMax, []int64{5, 7, 5}, "1= 3 1= a+c"},
		"tie behind":                       {LatencyAvg, []int64{7, 5, 7, 9}, "2= 1 2= 4 b"},
		"all the same":                     {LatencyAvg, []int64{5, 5}, "1= 1= a+b"},
		"within the resolution":            {Throughput, []int64{600_000, 600_900, 598_000}, "1= 1= 3 a+b"},
		"latency has no resolution":        {LatencyAvg, []int64{600_000, 600_001}, "1 2 a"},
		"a chain of ties is not one tie":   {Throughput, []int64{600_000, 600_900, 601_800}, "3 1= 1= b+c"},
		"forwarding nothing is the lowest": {Throughput, []int64{0, 600_000}, "2 1 b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := results(test.values...)
			for i := range all {
				// A device that forwarded nothing was sent frames all the same.
				all[i].Rows[0].Frames.Sent = 6_000_000
			}
			if got := ranks(line(t, test.metric, all...)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestNotApplicable(t *testing.T) {
	good := named("good", throughputRow(64, 600_000, 2000, 4000))
	change := func(f func(*v1alpha1.ResultRow)) Result {
		row := throughputRow(64, 700_000, 1000, 3000)
		f(&row)
		return named("other", row)
	}
	tests := map[string]struct {
		other  Result
		metric Metric
		status Status
		reason string
		value  bool
	}{
		"missing":    {named("other"), Throughput, Missing, "no such row", false},
		"other size": {change(func(r *v1alpha1.ResultRow) { r.FrameSize = 128 }), Throughput, Missing, "no such row", false},
		"generator bound": {change(func(r *v1alpha1.ResultRow) {
			r.Validity, r.ValidityReasons = v1alpha1.ValidityGeneratorBound, []string{"too slow"}
		}), Throughput, NotValid, "GeneratorBound: too slow", true},
		"uncalibrated": {change(func(r *v1alpha1.ResultRow) { r.Validity = v1alpha1.ValidityUncalibrated }), LatencyMax, NotValid, "Uncalibrated", true},
		"nothing sent": {change(func(r *v1alpha1.ResultRow) { r.Frames.Sent, r.Message = 0, "no ARP" }), Throughput, NotMeasured, "nothing was sent: no ARP", false},
		"no latency":   {change(func(r *v1alpha1.ResultRow) { r.Latency = nil }), LatencyAvg, NotMeasured, "no frame came back", false},
		"throughput 0": {change(func(r *v1alpha1.ResultRow) { r.Latency, r.Frames.LineRatePPM, r.Message = nil, 0, "7 frames were lost" }), LatencyAvg, NotMeasured, "no load passed: 7 frames were lost", false},
		"loss":         {change(func(r *v1alpha1.ResultRow) { r.Frames.Lost = 1 }), LatencyAvg, Loss, "full queue", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := line(t, test.metric, good, test.other)
			c := l.Cells[1]
			if c.Status != test.status || !strings.Contains(c.Reason, test.reason) || c.Rank != 0 || (c.Value != nil) != test.value {
				t.Errorf("%+v", c)
			}
			if c.Difference != nil || l.Winners != nil || l.Cells[0].Rank != 1 {
				t.Errorf("difference %v, winners %v, rank of the other %d", c.Difference, l.Winners, l.Cells[0].Rank)
			}
		})
	}
	if l := line(t, Throughput, good, change(func(r *v1alpha1.ResultRow) { r.Validity, r.Frames.Lost = v1alpha1.ValidityVirtual, 1 })); ranks(l) != "2 1 other" {
		t.Errorf("a software device: %s", ranks(l))
	}
}

func TestDifferences(t *testing.T) {
	l := line(t, LatencyMax, named("a", throughputRow(64, 1, 2377, 4240)), named("b", throughputRow(64, 1, 2696, 4010)))
	if c := l.Cells[1]; *c.Difference != -230 || *c.DifferencePPM != -54245 || l.Cells[0].Difference != nil {
		t.Errorf("%d, %d ppm", *c.Difference, *c.DifferencePPM)
	}
	zero := throughputRow(64, 0, 1, 1)
	zero.Frames.Sent = 1
	l = line(t, Throughput, named("a", zero), named("b", throughputRow(64, 7, 1, 1)))
	if c := l.Cells[1]; *c.Difference != 7 || c.DifferencePPM != nil {
		t.Errorf("from 0: %+v", c)
	}
}

func TestScaled(t *testing.T) {
	for _, test := range [][4]int64{
		{1, 1_000_000, 3, 333333}, {2, 1_000_000, 3, 666667}, {-2, 1_000_000, 3, -666667}, {1, 1, 2, 1}, {-1, 1, 2, -1},
		{26_547_619_048_000, 1_000_000, 26_547_619_048, 1_000_000_000}, {0, 5, 7, 0},
	} {
		if got := scaled(test[0], test[1], test[2]); got != test[3] {
			t.Errorf("scaled(%d, %d, %d) = %d, want %d", test[0], test[1], test[2], got, test[3])
		}
	}
}

func TestLoadsThatDifferAreNamed(t *testing.T) {
	l := line(t, LatencyAvg, named("a", throughputRow(64, 696_875, 1, 1)), named("b", throughputRow(64, 999_940, 2, 2)))
	if want := "measured at different loads: a at 69.6875%, b at 99.994%"; l.Note != want || ranks(l) != "1 2 a" {
		t.Errorf("%q, %s", l.Note, ranks(l))
	}
}

func TestScores(t *testing.T) {
	a := named("a", throughputRow(64, 700_000, 1, 1), throughputRow(128, 700_000, 1, 1), throughputRow(256, 100_000, 1, 1))
	b := named("b", throughputRow(64, 600_000, 2, 1), throughputRow(128, 800_000, 1, 1))
	none := named("none")
	c, err := Make([]Result{a, b, none})
	if err != nil {
		t.Fatal(err)
	}
	got := map[Metric]Score{}
	for _, s := range c.Scores {
		got[s.Metric] = s
	}
	if s := got[Throughput]; s.LinesCounted != 2 || s.LinesTotal != 3 || len(s.Winners) != 2 || !s.Places[0].Tied ||
		s.Places[0].RankSum != 3 || s.Places[1].RankSum != 3 || s.Places[2].Rank != 0 {
		t.Errorf("throughput: %+v", s)
	}
	if s := got[LatencyAvg]; s.Places[0].Rank != 1 || s.Places[1].Rank != 2 || s.Places[0].Firsts != 2 || strings.Join(s.Winners, "") != "a" {
		t.Errorf("average latency: %+v", s)
	}
}

func TestOtherMethodsAreComparedByLoss(t *testing.T) {
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "loss", Method: "FrameLossRate", FrameSize: 64, Load: "90%"}, Frames: &v1alpha1.FrameSection{Sent: 3_000, Received: 2_999, Lost: 1}, Validity: v1alpha1.ValidityValid}
	more := *row.DeepCopy()
	more.Frames.Lost, more.Frames.Received = 2, 2_998
	l := line(t, FrameLoss, named("a", row), named("b", more))
	if ranks(l) != "1 2 a" || *l.Cells[0].Value != 333_333 || *l.Cells[1].DifferencePPM != 1_000_003 {
		t.Errorf("%s: %d ppb, %d ppm", ranks(l), *l.Cells[0].Value, *l.Cells[1].DifferencePPM)
	}
}

func TestMakeRefuses(t *testing.T) {
	if _, err := Make([]Result{named("a")}); err == nil {
		t.Error("one result")
	}
	if _, err := Make([]Result{named("a"), named("a")}); err == nil || !strings.Contains(err.Error(), `two results are named "a"`) {
		t.Errorf("the same name: %v", err)
	}
}

// A mix is a line of its own after those of the sizes, also when the first result
// has nothing else.
func TestMixesComeAfterSizes(t *testing.T) {
	mix := throughputRow(0, 5, 5, 5)
	mix.FrameMix = "imix"
	other := mix
	other.FrameMix = "genome"
	c, err := Make([]Result{
		named("a", mix, other, throughputRow(1518, 4, 4, 4)),
		named("b", throughputRow(64, 6, 6, 6), mix),
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range c.Lines {
		if l.Metric == Throughput {
			lines = append(lines, v1alpha1.SizeName(l.FrameSize, l.FrameMix)+" "+ranks(l))
		}
	}
	if got, want := strings.Join(lines, ", "), "1518 B 1 0 , 64 B 0 1 , mix imix 1= 1= a+b, mix genome 1 0 "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
