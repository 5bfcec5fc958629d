package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// comparisons have everything that a table of them can show: ties, rows that are
// missing, in doubt or with loss, other conditions, and three results.
func comparisons(t *testing.T) map[string]*Comparison {
	t.Helper()
	slower := curves()
	slower.Rows[0].Frames.LineRatePPM -= 100_000
	slower.Rows[0].Frames.FramesPerSecond = slower.Rows[0].Frames.FramesPerSecond * 596875 / 696875
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
	compare := func(documents []*Document, names ...string) *Comparison {
		c, err := Compare(documents, names)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return map[string]*Comparison{
		"two":   compare([]*Document{curves(), slower}, "FEC off", "FEC on"),
		"three": compare([]*Document{chassis(), router(), chassis()}, "chassis", "router", "chassis | again"),
		"mixes": compare([]*Document{curves(), mixes()}, "sizes", "mixes"),
		"empty": compare([]*Document{aborted(), aborted()}, "one", "two"),
	}
}

func TestComparisonGolden(t *testing.T) {
	endings := map[Format]string{FormatTable: "txt", FormatJSON: "json", FormatMarkdown: "md", FormatHTML: "html"}
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

func TestComparisonTellsOtherConditions(t *testing.T) {
	c := comparisons(t)["three"]
	text := strings.Join(c.Notes, "\n")
	for _, want := range []string{
		"latency is measured differently: chassis: FIFO, as the model says; router: from just before",
		"the engines differ: chassis: sim; router: xdp; chassis | again: sim",
		"the ports differ: chassis: 256 of 100G; router: 2 of 10G",
		"the traffic differs", "the trials differ: chassis: nothing else; router: latency: trials of 1m30s; chassis | again: nothing else",
		"the kinds of device differ: chassis: a model, not measured; router: software (Virtual); chassis | again: a model, not measured",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the notes lack %q:\n%s", want, text)
		}
	}
	if same, err := Compare([]*Document{curves(), curves()}, []string{"a", "b"}); err != nil || len(same.Notes) != 0 {
		t.Errorf("%v, %v", same.Notes, err)
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
