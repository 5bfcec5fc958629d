package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// sparkColumns is the maximum width of a drawn history, in characters.
const sparkColumns = 40

const readingHistory = "Values are those of rows that can be compared: Valid, Virtual or Simulated, latencies without loss. A level changed " +
	"where chance makes such a difference in one of 1,000 histories of the same values. The change is the median difference between " +
	"the values of both levels; with a confidence of 95 % it is within the bounds. Drawings are from the 5th percentile to the 95th, and their " +
	"columns medians of as many runs; a dot is one without a value."

// Text is the history for people.
func (h *History) Text() string { return h.on(layout.Paper{}) }

// on is the text for a terminal, or for a file.
func (h *History) on(p layout.Paper) string {
	var b strings.Builder
	name := h.Benchmark
	if h.Namespace != "" {
		name = h.Namespace + "/" + name
	}
	b.WriteString(p.Title(fmt.Sprintf("History of %s%s: %s", name, after(" on bed ", h.TestBed), h.span())))
	if h.banner != "" {
		b.WriteString(p.Frame(h.banner))
	}
	if h.Others > 0 {
		b.WriteString(p.Wrap(fmt.Sprintf("Note: %s measured something else, other tests or traffic or ports than the newest one, and are left out", howMany(int(h.Others), "result")), layout.Gap))
	}
	if note := h.namespaces(); note != "" {
		b.WriteString(p.Wrap("Note: "+note, layout.Gap))
	}
	if len(h.Unreadable) > 0 {
		b.WriteString(p.Wrap("Note: left out, "+unreadableText(h.Unreadable), layout.Gap))
	}
	if len(h.Lines) == 0 {
		b.WriteString("\n  There is no figure to follow.\n")
		return b.String()
	}
	for _, lines := range h.tables() {
		text := metricTexts[lines[0].Metric]
		b.WriteString("\n" + p.Title(fmt.Sprintf("Test %s%s: %s (%s)", lines[0].Test, variantOf(lines[0].Variant), text.name, text.better)) + "\n" + h.grid(lines).On(p))
	}
	b.WriteString("\nChanges\n\n")
	if changes := h.changesGrid(); len(changes.Rows) > 0 {
		b.WriteString(changes.On(p))
	} else {
		b.WriteString("  none\n")
	}
	b.WriteString("\n" + p.Wrap(readingHistory, ""))
	return b.String()
}

// namespaces names the namespaces of the runs if there are several with the same name, in the order of
// their first runs.
func (h *History) namespaces() string {
	runs := map[string]int{}
	var uids []string
	for _, r := range h.Runs {
		uid := cmp.Or(r.NamespaceUID, "unknown")
		if runs[uid]++; runs[uid] == 1 {
			uids = append(uids, uid)
		}
	}
	if len(uids) < 2 {
		return ""
	}
	for i, uid := range uids {
		uids[i] = fmt.Sprintf("%s (%s)", uid, howMany(runs[uid], "run"))
	}
	return fmt.Sprintf("the runs are of %d namespaces with the name %s, which differ in their UIDs: %s", len(uids), h.Namespace, strings.Join(uids, ", "))
}

// span returns the number of runs and the dates of the first and the last run.
func (h *History) span() string {
	first, last := h.Runs[0].Time, h.Runs[len(h.Runs)-1].Time
	return fmt.Sprintf("%s from %s to %s UTC", howMany(len(h.Runs), "run"), day(first), day(last))
}

func howMany(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", layout.Group(int64(n)), what)
}

// tables divides the lines into those of one test, variant and metric.
func (h *History) tables() [][]history.Line {
	type title struct {
		test, variant, metric string
	}
	at := map[title]int{}
	var all [][]history.Line
	for _, l := range h.Lines {
		t := title{l.Test, string(l.Variant), string(l.Metric)}
		i, ok := at[t]
		if !ok {
			i = len(all)
			at[t], all = i, append(all, nil)
		}
		all[i] = append(all[i], l)
	}
	return all
}

func (h *History) grid(lines []history.Line) *layout.Grid {
	text := metricTexts[lines[0].Metric]
	g := &layout.Grid{Columns: []layout.Column{
		{Name: "row", Left: true}, {Name: "values"}, {Heading: text.unit, Name: "level"}, {Heading: text.unit, Name: "newest"}, {Heading: "last change", Name: "%"}, {Heading: "last change", Name: "is", Left: true, Verdict: true}, {Name: "all runs", Left: true},
	}}
	for _, l := range lines {
		cells := []string{rowName(l.RowID), fmt.Sprint(len(l.Points)), text.value(l.Level), h.newest(l, text.value), "-", "-", spark(l.Points, len(h.Runs))}
		if n := len(l.Changes); n > 0 {
			cells[4], cells[5] = shift(l.Changes[n-1].ShiftPPM), verdict(l.Changes[n-1])
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// changesGrid has a line for each change of a level.
func (h *History) changesGrid() *layout.Grid {
	g := &layout.Grid{Keys: 2, Columns: []layout.Column{
		{Name: "row", Left: true}, {Name: "figure", Left: true}, {Name: "first run", Left: true}, {Heading: "level", Name: "from"}, {Heading: "level", Name: "to"},
		{Heading: "change, %", Name: "median"}, {Heading: "change, %", Name: "lowest"}, {Heading: "change, %", Name: "highest"}, {Name: "is", Left: true, Verdict: true}, {Name: "device", Left: true},
	}}
	for _, l := range h.Lines {
		text := metricTexts[l.Metric]
		for _, c := range l.Changes {
			run := h.Runs[c.Run]
			g.Rows = append(g.Rows, []string{
				testName(l.Test, l.Variant) + " " + rowName(l.RowID), text.name + ", " + text.unit, day(run.Time), text.value(c.From), text.value(c.To),
				shift(c.ShiftPPM), shift(c.LowestPPM), shift(c.HighestPPM), verdict(c), cmp.Or(run.Device, "-"),
			})
		}
	}
	return g
}

func verdict(c history.Change) string {
	if c.Regression {
		return "regression"
	}
	return "improvement"
}

func shift(ppm *int64) string {
	if ppm == nil {
		return "-"
	}
	return percent(*ppm)
}

// newest is the value of the newest run, if it has one.
func (h *History) newest(l history.Line, value func(int64) string) string {
	if p := l.Points[len(l.Points)-1]; int(p.Run) == len(h.Runs)-1 {
		return value(p.Value)
	}
	return "-"
}

// spark draws the values of runs in one line of at most 40 columns, each the median of as many. Its
// heights are from the 5th to the 95th percentile, so that one value far out does
// not flatten the others.
func spark(points []history.Point, runs int) string {
	const heights = "▁▂▃▄▅▆▇█"
	var columns, drawn []float64 // NaN where no run has a value
	width := (runs + sparkColumns - 1) / sparkColumns
	for end := width; end < runs+width; end += width {
		column := math.NaN()
		var known []float64
		for ; len(points) > 0 && int(points[0].Run) < end; points = points[1:] {
			known = append(known, float64(points[0].Value))
		}
		if len(known) > 0 {
			column = trend.Median(known)
			drawn = append(drawn, column)
		}
		columns = append(columns, column)
	}
	slices.Sort(drawn)
	twentieth := len(drawn) / 20
	lowest, highest := drawn[twentieth], drawn[len(drawn)-1-twentieth]
	var b strings.Builder
	runes := []rune(heights)
	for _, v := range columns {
		switch {
		case math.IsNaN(v):
			b.WriteRune('·')
		case lowest == highest:
			b.WriteRune(runes[len(runes)/2])
		default:
			part := (v - lowest) / (highest - lowest)
			b.WriteRune(runes[max(0, min(int(part*float64(len(runes))), len(runes)-1))])
		}
	}
	return b.String()
}
