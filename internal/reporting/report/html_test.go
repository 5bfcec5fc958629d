package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// htmlPage is a parsed page: its elements, its texts, and what it would fetch.
type htmlPage struct {
	elements map[string]int
	ids      map[string]bool
	// refers are the ids that labels refer to.
	refers  []string
	fetches []string
	text    string
}

// parseHTML fails the test when elements are not closed, when an attribute stands
// twice or without quotes, or when an id is not unique.
func parseHTML(t *testing.T, text string) htmlPage {
	t.Helper()
	p := htmlPage{elements: map[string]int{}, ids: map[string]bool{}}
	if !strings.HasPrefix(text, "<!doctype html>") {
		t.Error("no doctype")
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	var visible strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("line %d of the page: %v", lineOf(text, d.InputOffset()), err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			p.elements[token.Name.Local]++
			for _, a := range token.Attr {
				switch name := strings.ToLower(a.Name.Local); {
				case name == "id" && p.ids[a.Value]:
					t.Errorf("id %q is there twice", a.Value)
				case name == "id":
					p.ids[a.Value] = true
				case name == "aria-labelledby":
					p.refers = append(p.refers, strings.Fields(a.Value)...)
				case name == "src", name == "srcset", name == "href", name == "action", name == "data", name == "poster", strings.HasPrefix(name, "on"):
					p.fetches = append(p.fetches, name+"="+a.Value)
				}
			}
		case xml.CharData:
			visible.Write(token)
			visible.WriteByte('\n')
		}
	}
	p.text = visible.String()
	return p
}

func lineOf(text string, offset int64) int { return strings.Count(text[:offset], "\n") + 1 }

func pageOf(t *testing.T, d interface {
	Write(io.Writer, Format) error
}) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.Write(&b, FormatHTML); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func checkPage(t *testing.T, text string) htmlPage {
	t.Helper()
	p := parseHTML(t, text)
	for _, element := range []string{"script", "link", "iframe", "object", "embed", "img", "form", "base"} {
		if p.elements[element] > 0 {
			t.Errorf("there is a <%s>", element)
		}
	}
	for _, what := range p.fetches {
		if id, inside := strings.CutPrefix(what, "href=#"); !inside || !p.ids[id] {
			t.Errorf("the page fetches, runs or leads to %s", what)
		}
	}
	for _, what := range []string{"@import", "url(", "http://", "https://", "javascript:", "ZgotmplZ"} {
		if strings.Contains(text, what) {
			t.Errorf("the page contains %q", what)
		}
	}
	for _, id := range p.refers {
		if !p.ids[id] {
			t.Errorf("nothing has the id %q that a label refers to", id)
		}
	}
	if p.elements["h1"] != 1 || p.elements["title"] < 1 {
		t.Errorf("%d h1, %d title", p.elements["h1"], p.elements["title"])
	}
	return p
}

func TestPagesAreSelfContained(t *testing.T) {
	for name, d := range allDocuments() {
		t.Run(name, func(t *testing.T) { checkPage(t, pageOf(t, d)) })
	}
	for name, c := range comparisons(t) {
		t.Run(name, func(t *testing.T) { checkPage(t, pageOf(t, c)) })
	}
}

// Every cell of the tables is the same text in HTML as for the terminal.
func TestPageHasTheDigitsOfTheText(t *testing.T) {
	for name, d := range allDocuments() {
		p := parseHTML(t, pageOf(t, d))
		lines := strings.Split(p.text, "\n")
		seen := map[string]bool{}
		for _, line := range lines {
			seen[strings.TrimSpace(line)] = true
		}
		for _, results := range d.byTest() {
			for _, row := range results.table(layout.UnitFor(highestBitRate(d.Rows))).Rows {
				for _, cell := range row {
					if cell != "-" && !seen[cell] {
						t.Errorf("%s: the page lacks %q", name, cell)
					}
				}
			}
		}
	}
}

func TestChartsOfAPage(t *testing.T) {
	p := parseHTML(t, pageOf(t, curves()))
	if p.elements["figure"] != 5 || p.elements["desc"] != 5 {
		t.Fatalf("%d figures, %d descriptions; want throughput, its latency, average and maximum against load, and the test bed", p.elements["figure"], p.elements["desc"])
	}
	for _, want := range []string{
		"64 B: 69.6875% of line rate, 13.592 Tbit/s.",
		"9216 B: 2.650 to 15.650 µs, mean 6.828 µs.",
		"64 B: 1.634 µs at 10%, 2.132 µs at 50%, 2.377 µs at 69.6875%, 4.240 µs at 90% with loss.",
		"Open marks: frames were lost at that load",
	} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if none := parseHTML(t, pageOf(t, aborted())); none.elements["svg"] != 1 {
		t.Errorf("%d drawings without rows; want the logo alone", none.elements["svg"])
	}
}

// A log axis where the range demands it, and positions inside the drawing.
func TestLatencyChart(t *testing.T) {
	average := func(l *v1alpha1.LatencySummary) int64 { return l.AvgNs }
	rows := curves().Rows[3:]
	c := latencyAgainstLoad("c", "Average", rows, average)
	if strings.Contains(c.YTitle, "logarithmic") || c.YTicks[0].Label != "0" || len(c.Series) != 3 {
		t.Errorf("%s from %s, %d lines", c.YTitle, c.YTicks[0].Label, len(c.Series))
	}
	if open := c.Series[0].Marks[3]; !open.Open || strings.Count(c.Series[0].Path, "L") != 2 {
		t.Errorf("the load with loss is joined: %s, %v", c.Series[0].Path, open)
	}
	wide := append([]v1alpha1.ResultRow(nil), rows...)
	slow := *wide[0].Latency
	slow.AvgNs = 4_000_000
	wide[0].Latency = &slow
	if c := latencyAgainstLoad("c", "Average", wide, average); !strings.Contains(c.YTitle, "logarithmic") {
		t.Errorf("%s for 1.6 to 4000 µs", c.YTitle)
	}
	if c := latencyAgainstLoad("c", "Average", rows[:1], average); c != nil {
		t.Error("a chart of one load")
	}
	number := regexp.MustCompile(`-?[0-9.]+`)
	for _, s := range c.Series {
		for _, text := range number.FindAllString(s.Path+s.Leader, -1) {
			if len(text) > 6 || strings.HasPrefix(text, "-") {
				t.Errorf("position %s outside of the drawing", text)
			}
		}
	}
}

// A bar of a partial drop rate says what it is: throughput is zero loss.
func TestPartialDropRatesAreNamedInCharts(t *testing.T) {
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "rates", Method: v1alpha1.MethodThroughput, FrameSize: 64}, Frames: &v1alpha1.FrameSection{LineRatePPM: 500_000}, Latency: &v1alpha1.LatencySummary{MinNs: 1000, AvgNs: 2000, MaxNs: 3000}}
	partial := row
	partial.LossRatioPPM = 5000
	unit := layout.UnitFor(1)
	for want, rows := range map[string][]v1alpha1.ResultRow{
		"Throughput by frame size: 64 B":                                      {row},
		"Throughput and partial drop rate by frame size: 64 B, 64 B PDR 0.5%": {row, partial},
	} {
		c := throughputBySize("rates", rows, unit)
		var labels []string
		for _, b := range c.Bars {
			labels = append(labels, b.Label)
		}
		if got := c.Title + ": " + strings.Join(labels, ", "); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if c := latencyBySize("latency", []v1alpha1.ResultRow{row, partial}); c.Title != "Latency at these rates by frame size" {
		t.Errorf("%q", c.Title)
	}
}
