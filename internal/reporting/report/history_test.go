package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/history"
)

// nights are results of one benchmark: the device loses 5 % of its throughput at 64 bytes
// with a new version after run 20 of 50. Run 30 has rows that can be compared with no
// other, and one run measured another profile.
func nights(t *testing.T) *History {
	t.Helper()
	var b HistoryBuilder
	for n := range 50 {
		d := curves()
		d.Rows = d.Rows[:4]
		d.Benchmark.UID = fmt.Sprintf("%04d", n)
		d.StartTime = &metav1.Time{Time: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, n)}
		environment := *d.Environment
		environment.Device = "switch, software 7.1"
		if n >= 20 {
			environment.Device = "switch, software 7.2"
			f := d.Rows[0].Frames
			f.FramesPerSecond, f.OfferedFramesPerSecond = f.FramesPerSecond*95/100, f.OfferedFramesPerSecond*95/100
		}
		d.Environment = &environment
		for i := range d.Rows {
			d.Rows[i].Frames.OfferedFramesPerSecond += int64(n * 7919 % 13 * 1000) // below the resolution
			if n == 30 {
				d.Rows[i].Validity = v1alpha1.ValidityContended
			}
		}
		if n == 10 {
			profile := *d.Profile
			profile.FrameSizes = []int32{64}
			d.Profile = &profile
		}
		if n%2 == 0 {
			d.Report = fmt.Sprintf("reports/%04d.html", n)
		}
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	h, err := b.History()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistoryGolden(t *testing.T) {
	t.Parallel()
	h := nights(t)
	for _, format := range HistoryFormats() {
		var got bytes.Buffer
		if err := h.Write(&got, format); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "history."+map[Format]string{FormatTable: "txt", FormatJSON: "json", FormatYAML: "yaml", FormatHTML: "html"}[format]), unstyled(got.String()))
	}
}

// The page of a history draws the levels and marks their changes; runs with a report lead to it.
func TestHistoryPage(t *testing.T) {
	t.Parallel()
	h := nights(t)
	text := pageOf(t, h)
	p := parseHTML(t, text)
	for _, what := range p.fetches {
		if !strings.HasPrefix(what, "href=#") && !strings.HasPrefix(what, "href=reports/") {
			t.Errorf("the page leads to %s", what)
		}
	}
	for _, want := range []string{"Regression", `<p class="mark-failed">regression: throughput 64 B, throughput −5.00 %</p>`, `class="band worse"`, `<a href="reports/0022.html"><path class="mark"`, `<td class="left"><a href="reports/0048.html">Report</a></td>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	bands := 0
	for _, l := range h.Lines {
		c := h.chart("c", l)
		if len(c.Bands) != len(l.Changes)+1 || len(c.Events) != len(l.Changes) || len(c.Series[0].Marks) != len(l.Points) {
			t.Errorf("%s: %d bands, %d changes, %d marks", l.Metric, len(c.Bands), len(c.Events), len(c.Series[0].Marks))
		}
		bands += len(c.Bands)
	}
	if bands != len(h.Lines)+1 {
		t.Errorf("%d bands of %d lines, want one more", bands, len(h.Lines))
	}
	if got := runTicks(50); !slices.Equal(got, []int{1, 10, 20, 30, 40, 50}) {
		t.Errorf("ticks %v", got)
	}
}

func TestHistoryNamesTheRegression(t *testing.T) {
	t.Parallel()
	h := nights(t)
	if len(h.Runs) != 49 || h.Others != 1 {
		t.Errorf("%d runs and %d others, want 49 and 1", len(h.Runs), h.Others)
	}
	regressed := 0
	for _, l := range h.Lines {
		if !l.Regressed() {
			continue
		}
		regressed++
		c := l.Changes[0]
		if l.FrameSize != 64 || h.Runs[c.Run].UID != "0020" || *c.LowestPPM > -50_000 || *c.HighestPPM < -50_000 {
			t.Errorf("%s %s changed with run %s by %d ppm, from %d to %d", rowName(l.RowID), l.Metric, h.Runs[c.Run].UID, *c.ShiftPPM, *c.LowestPPM, *c.HighestPPM)
		}
	}
	if regressed != 1 {
		t.Errorf("%d figures became worse, want 1", regressed)
	}
}

func TestSchemaDocumentsHistories(t *testing.T) {
	root := reflect.TypeFor[history.History]()
	s := describeType(t, root, history.Schema, "../compare", "../history")
	asJSON, err := json.MarshalIndent(s.root(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(docs, "history-schema.json"), string(asJSON)+"\n")
	golden(t, filepath.Join(docs, "history-schema.md"), historyHead+s.markdown())
	if result := validatorOf(t, s.inline(root)).Validate(decoded(t, nights(t).History)); !result.IsValid() {
		t.Error(result.AsError())
	}
}

const historyHead = "# The history document\n\n`nodrop history -o json` writes this document. Its schema is `" + history.Schema + "`" + `: fields may be added under
that name, none is removed, renamed or given another meaning. [history-schema.json](history-schema.json) is
the same as JSON Schema. [design/trends.md](design/trends.md) says how changes are found.

Numbers are integers; the unit of a value is that of its metric. Both files are generated from the Go types by
` + "`go test ./internal/reporting/report -update`" + `.
`

func TestSparks(t *testing.T) {
	t.Parallel()
	// draw draws values, of which negative ones are those of runs without.
	draw := func(values ...int64) string {
		var points []history.Point
		for i, v := range values {
			if v >= 0 {
				points = append(points, history.Point{Run: int32(i), Value: v})
			}
		}
		return spark(points, len(values))
	}
	for want, of := range map[string][]int64{
		"▁▃▆█": {1, 2, 3, 4},
		"▁·█":  {1, -1, 9},
		"▅▅·":  {7, 7, -1},
	} {
		if got := draw(of...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// One value far out leaves the others their heights.
	long := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1_000_000}
	if got := draw(long...); strings.Count(got, "█") > 5 {
		t.Errorf("drawn as %s", got)
	}
	if got := []rune(draw(slices.Repeat(long, 3)...)); len(got) > sparkColumns {
		t.Errorf("%d columns", len(got))
	}
}

// TestHistoryIsBounded adds runs with as many rows as a result may have: the oldest are left out, and named.
func TestHistoryIsBounded(t *testing.T) {
	var b HistoryBuilder
	const runs, rows = 14, 20_000
	for n := range runs {
		d := curves()
		row := d.Rows[0]
		d.Rows = slices.Repeat([]v1alpha1.ResultRow{row}, rows)
		d.Benchmark.UID = fmt.Sprintf("%04d", n)
		d.StartTime = &metav1.Time{Time: time.Date(2026, 3, 1+(n*5)%runs, 2, 0, 0, 0, time.UTC)} // Not in the order of time.
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	if want := MaxHistoryRows / rows; len(b.runs) != want || len(b.unreadable) != runs-want {
		t.Fatalf("%d runs are kept, and %d left out, want %d and %d", len(b.runs), len(b.unreadable), want, runs-want)
	}
	for _, run := range b.runs {
		if run.Info.Time.Day() <= runs-len(b.runs) {
			t.Errorf("the run of %s is kept, and a newer one is left out", run.Info.Time)
		}
	}
	if why := b.unreadable[0].Reason; !strings.Contains(why, "left out: it has 20000 rows, and a history has 250000 at most") {
		t.Errorf("the reason is %q", why)
	}
}
