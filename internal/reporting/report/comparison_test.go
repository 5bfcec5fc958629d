package report

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// comparisons have everything that a table of them can show: ties, rows that are
// missing, in doubt or with loss, other conditions, and three results.
func comparisons(t *testing.T) map[string]*Comparison {
	t.Helper()
	slower := curves()
	slower.Rows[0].Frames.LineRatePPM -= 100_000
	slower.Rows[0].Frames.FramesPerSecond = slower.Rows[0].Frames.FramesPerSecond * 596875 / 696875
	slower.Rows[0].Frames.OfferedFramesPerSecond = slower.Rows[0].Frames.OfferedFramesPerSecond * 596875 / 696875
	// Closer than the resolution of the search.
	slower.Rows[1].Frames.FramesPerSecond -= 1000
	for i := range slower.Rows {
		l := *slower.Rows[i].Latency
		l.AvgNs += 319
		l.MaxNs -= 190
		slower.Rows[i].Latency = &l
	}
	slower.Rows[2].Validity, slower.Rows[2].ValidityReasons = v1alpha1.ValidityGeneratorBound, []string{"p1 sent 1 of 2 frames"}
	slower.Rows = slower.Rows[:14]
	compared := func(documents []*Document, names ...string) *Comparison {
		c, err := Compare(documents, names)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	shorter := curves()
	shorter.Spec.Tests = slices.Clone(shorter.Spec.Tests)
	shorter.Spec.Tests[1].Latency = &v1alpha1.LatencyTest{Loads: shorter.Spec.Tests[1].Latency.Loads, TrialDuration: seconds(5)}
	return map[string]*Comparison{
		"two":   compared([]*Document{curves(), slower}, "FEC off", "FEC on"),
		"three": compared([]*Document{curves(), shorter, slower}, "chassis", "short", "chassis | again"),
		"mixes": compared([]*Document{mixes(), mixes()}, "before", "after"),
		"empty": compared([]*Document{aborted(), aborted()}, "one", "two"),
	}
}

func TestComparisonGolden(t *testing.T) {
	endings := map[Format]string{FormatTable: "txt", FormatJSON: "json", FormatYAML: "yaml", FormatMarkdown: "md", FormatHTML: "html"}
	for name, c := range comparisons(t) {
		for _, format := range ComparisonFormats() {
			t.Run(name+"."+endings[format], func(t *testing.T) {
				var got bytes.Buffer
				if err := c.Write(&got, format); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", "comparison-"+name+"."+endings[format]), unstyled(got.String()))
			})
		}
	}
}

// Every number of the text stands in the tables of the other formats too.
func TestComparisonFormatsAgree(t *testing.T) {
	c := comparisons(t)["two"]
	page := parseHTML(t, pageOf(t, c)).text
	for _, lines := range c.tables() {
		for _, row := range c.lineGrid(lines).Rows {
			for _, cell := range row {
				if cell == "-" {
					continue
				}
				if !strings.Contains(page, "\n"+strings.Replace(cell, "-", "−", 1)+"\n") && !strings.Contains(page, "\n"+cell+"\n") {
					t.Errorf("the page lacks %q", cell)
				}
				if !strings.Contains(c.markdown(), "| "+cell+" |") {
					t.Errorf("Markdown lacks %q", cell)
				}
			}
		}
	}
}

// Results of other ports, and results without a common row, are refused by name. Where
// something else differs, it is a note.
func TestComparisonTellsOtherConditions(t *testing.T) {
	_, err := Compare([]*Document{chassis(), router()}, []string{"chassis", "router"})
	if want := "the results are not comparable: the ports differ: chassis: 256 of 100G; router: 2 of 10G"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	other := chassis()
	for i := range other.Rows {
		other.Rows[i].Test = "rates"
	}
	if _, err := Compare([]*Document{chassis(), other}, []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), "they have no row of the same test, size and load (a has test throughput of 64 B, 1518 B and 9216 B; b has test rates of 64 B, 1518 B and 9216 B)") {
		t.Errorf("%v, want the tests of both", err)
	}
	c := comparisons(t)["three"]
	if text := strings.Join(c.Notes, "\n"); !strings.Contains(text, "the trials differ: chassis: latency: ") {
		t.Errorf("the notes lack the trials:\n%s", text)
	}
	if same, err := Compare([]*Document{curves(), curves()}, []string{"a", "b"}); err != nil || len(same.Notes) != 0 {
		t.Errorf("%v, %v", same.Notes, err)
	}
}

// There is a winner only where the same was measured.
func TestWinnersOfTheSameOnly(t *testing.T) {
	winners := func(c *Comparison, test string, metric compare.Metric) (n int) {
		for _, l := range c.Lines {
			if l.Test == test && l.Metric == metric {
				n += len(l.Winners)
			}
		}
		for _, s := range c.Scores {
			if s.Test == test && s.Metric == metric {
				n += len(s.Winners)
			}
		}
		return n
	}
	c := comparisons(t)["three"] // of which the trials of one latency test are shorter
	if winners(c, "throughput", compare.Throughput) == 0 || winners(c, "latency", compare.LatencyAvg) > 0 {
		t.Errorf("%d and %d winners, want some of throughput and none of latency", winners(c, "throughput", compare.Throughput), winners(c, "latency", compare.LatencyAvg))
	}
	if text := c.Text(); !strings.Contains(text, "There is no winner: the trials of the test differ.") {
		t.Errorf("the text does not say why:\n%s", text)
	}
	timed := curves()
	timed.Environment = new(*timed.Environment)
	timed.Environment.LatencyType = "LIFO"
	c, err := Compare([]*Document{curves(), timed}, []string{"a", "b"})
	if err != nil || winners(c, "throughput", compare.Throughput) == 0 || winners(c, "throughput", compare.LatencyAvg) > 0 {
		t.Errorf("%v: latencies that are timed differently have a winner", err)
	}
	flows := curves()
	flows.Profile = flows.Profile.DeepCopy()
	flows.Profile.Packet.DSCP = new(int32(10))
	c, err = Compare([]*Document{curves(), flows}, []string{"a", "b"})
	if err != nil || winners(c, "throughput", compare.Throughput) > 0 || !strings.Contains(c.sentence(c.tables()[0]), "There is no winner: the traffic differs: a: IPv4/UDP") || strings.Contains(c.Text(), "no winner: no winner") {
		t.Errorf("%v: results of other traffic have a winner: %s", err, c.sentence(c.tables()[0]))
	}
	// Routes without traffic are a condition of the device.
	full := curves()
	full.Profile = full.Profile.DeepCopy()
	full.Profile.Routing = &v1alpha1.ProfileRouting{Routes: []v1alpha1.RouteSet{{Name: "cover", First: "20.0.0.0/23", Count: 10, Traffic: new(false)}}}
	c, err = Compare([]*Document{curves(), full}, []string{"a", "b"})
	if err != nil || winners(c, "throughput", compare.Throughput) == 0 || len(c.Notes) != 1 {
		t.Errorf("%v, %q: routes without traffic forbid a winner", err, c.Notes)
	}
	measured := curves()
	measured.Environment = new(*measured.Environment)
	measured.Environment.Engine = v1alpha1.EngineXDP
	for i := range measured.Rows {
		measured.Rows[i].Validity = v1alpha1.ValidityValid
	}
	c, err = Compare([]*Document{curves(), measured}, []string{"model", "device"})
	if err != nil || winners(c, "throughput", compare.Throughput) > 0 || !strings.Contains(c.Text(), "There is no winner: the kinds of device differ: model: a model, not measured; device: hardware.") {
		t.Errorf("%v: a model and a device have a winner", err)
	}
}

// Each table of a comparison has a sentence and a chart with all values.
func TestComparisonIsDrawn(t *testing.T) {
	c := comparisons(t)["two"]
	lines := c.tables()[0]
	if got, want := c.sentence(lines), "FEC on compared with FEC off: worse in 1 of 2 rows (by up to 14.35 % at 64 B), not distinguishable in 1; 1 more without a rank."; got != want {
		t.Errorf("%q, not\n%q", got, want)
	}
	bars := c.chart("c", lines)
	if len(bars.Bars) != 6 || len(bars.Legend) != 2 || bars.Bars[0].BarX == "" || bars.Bars[5].Value != "N/A" || !strings.Contains(bars.Description, "64 B, FEC on: 59.69%") {
		t.Errorf("%+v", bars)
	}
	dots := c.chart("d", c.tables()[1])
	if len(dots.Bars) == 0 || dots.Bars[0].Dot == "" || dots.Bars[0].BarX != "" {
		t.Errorf("%+v", dots)
	}
	repeated := curves()
	repeated.Rows[0].Repeated = &v1alpha1.RepeatedSummary{Figures: []v1alpha1.FigureInterval{{Metric: "LatencyAvg", Median: 2377, Low: 2300, High: 2500, Values: []int64{2300, 2377, 2500}}}}
	c, err := Compare([]*Document{repeated, curves()}, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if dots := c.chart("d", c.tables()[1]); dots.Bars[0].Whisker == "" || dots.Bars[1].Whisker != "" {
		t.Errorf("the interval is not drawn: %+v", dots.Bars[:2])
	}
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	for _, format := range []Format{FormatJSON, FormatYAML} {
		var b bytes.Buffer
		if err := router().Write(&b, format); err != nil {
			t.Fatal(err)
		}
		d, err := Read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if d.Text() != router().Text() {
			t.Errorf("%s: the text is another one", format)
		}
	}
	for name, text := range map[string]string{"other schema": `{"schema": "nodrop.dev/comparison/v1alpha1"}`, "no document": "[", "nothing": ""} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSignedAndPercent(t *testing.T) {
	for n, want := range map[int64]string{319: "+0.319", -1220: "-1.220", 0: "0.000"} {
		if got := signed(n, layout.Micros); got != want {
			t.Errorf("signed(%d) = %s, want %s", n, got, want)
		}
	}
	for ppm, want := range map[int64]string{134_203: "+13.42", -44_811: "-4.48", 0: "0.00", 20_000_000: "+2,000.00"} {
		if got := percent(ppm); got != want {
			t.Errorf("percent(%d) = %s, want %s", ppm, got, want)
		}
	}
}
