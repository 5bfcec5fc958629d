package report

import (
	"bytes"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func written(t *testing.T, d *Document, format Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return unstyled(b.String())
}

// The figures on top of a page are of the rows that can be judged by. Without a device the
// tester is measured, and its limit is the answer.
func TestFactsAreOfConclusiveRows(t *testing.T) {
	d := chassis()
	for i := range d.Rows {
		d.Rows[i].Validity = v1alpha1.ValidityVirtual
	}
	d.Rows[0].Validity = v1alpha1.ValidityGeneratorBound // 13.592 Tbit/s
	if page := written(t, d, FormatHTML); !strings.Contains(page, "25.266 – 25.543 Tbit/s, 2 rows, without 1 row in doubt</dd>") {
		t.Error("the row in doubt is among the figures")
	}
	for i := range d.Rows {
		d.Rows[i].Validity = v1alpha1.ValidityGeneratorBound
	}
	if page := written(t, d, FormatHTML); !strings.Contains(page, "Not known</dd><dd>highest load without loss</dd><dd class=\"rows\">3 rows in doubt</dd>") {
		t.Error("rows in doubt are the figures")
	}
	d.Bed.Device = v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}}
	if page := written(t, d, FormatHTML); !strings.Contains(page, "13.592 – 25.543 Tbit/s, 3 rows</dd>") {
		t.Error("the limit of the tester is not among the figures of a calibration")
	}
}

// What was computed says so first, in every format for people, and so does every sheet of
// paper.
func TestSimulatedIsSaidFirst(t *testing.T) {
	d := chassis()
	for format, before := range map[Format]string{FormatTable: "Test ", FormatMarkdown: "## Test", FormatHTML: "<h1>"} {
		text := written(t, d, format)
		at, first := strings.Index(text, "SIMULATED: every figure was computed from a model"), strings.Index(text, before)
		if at < 0 || at > first {
			t.Errorf("%s: the banner is at %d, and %q at %d", format, at, before, first)
		}
		if format == FormatHTML && !strings.Contains(text, `content: "SIMULATED · NoDrop`) {
			t.Error("the foot of a printed page does not say so")
		}
	}
	if text := written(t, router(), FormatTable); strings.Contains(text, "SIMULATED") {
		t.Error("a measurement is called simulated")
	}
}

// Percentiles have a table of their own in every format for people. They have the digits that
// their buckets support, and the lowest and the highest latency have all.
func TestPercentilesAreShown(t *testing.T) {
	d := &Document{Rows: []v1alpha1.ResultRow{short(v1alpha1.MethodLatency, "100%")}}
	for format, want := range map[Format]string{
		FormatTable:    "64  100%      1.000  2.000  2.50  2.90   3.00  3.000\n",
		FormatMarkdown: "| 64 | 100% | 1.000 | 2.000 | 2.50 | 2.90 | 3.00 | 3.000 |",
		FormatHTML:     "<td>2.90</td><td>3.00</td><td>3.000</td>",
	} {
		if text := written(t, d, format); !strings.Contains(text, want) || !strings.Contains(text, "p99.9") {
			t.Errorf("%s: no %q in\n%s", format, want, text)
		}
	}
}

// A comparison says which of its results were computed.
func TestComparisonSaysWhatIsSimulated(t *testing.T) {
	measured := chassis()
	measured.Environment = new(*measured.Environment)
	measured.Environment.Engine, measured.Notes = v1alpha1.EngineXDP, nil
	for i := range measured.Rows {
		measured.Rows[i].Validity = v1alpha1.ValidityValid
	}
	for want, documents := range map[string][]*Document{
		simulatedBanner: {chassis(), chassis()},
		"SIMULATED: a: computed from a model, and not measured": {chassis(), measured},
		"": {measured, measured},
	} {
		c, err := Compare(documents, []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []Format{FormatTable, FormatMarkdown, FormatHTML} {
			var b bytes.Buffer
			if err := c.Write(&b, format); err != nil {
				t.Fatal(err)
			}
			if text := unstyled(b.String()); strings.Contains(text, "SIMULATED") != (want != "") || !strings.Contains(text, want) {
				t.Errorf("%s: no banner %q in\n%s", format, want, text)
			}
		}
	}
}

// A load without loss that was found with an exceed ratio is not called the throughput of RFC 2544
// without a word about it.
func TestAnExceedRatioIsShown(t *testing.T) {
	t.Parallel()
	row := v1alpha1.ResultRow{
		RowID:  v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64},
		Frames: &v1alpha1.FrameSection{LineRatePPM: 900_000, Sent: 100, Received: 100}, Validity: v1alpha1.ValidityValid,
	}
	d := &Document{Rows: []v1alpha1.ResultRow{row}}
	d.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{MLRSearch: &v1alpha1.MLRsearchGoal{}}}}
	const want = "Trials with more loss may take 50% of the duration sum of a load"
	texts := func() []string {
		markdown, err := d.markdown()
		if err != nil {
			t.Fatal(err)
		}
		page, err := d.html()
		if err != nil {
			t.Fatal(err)
		}
		return []string{d.Text(), string(markdown), string(page)}
	}
	for _, text := range texts() {
		if strings.Contains(text, "duration sum") {
			t.Errorf("an exceed ratio without one:\n%s", text)
		}
	}
	d.Spec.Tests[0].Throughput.MLRSearch.ExceedRatio = "50%"
	for _, text := range texts() {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
