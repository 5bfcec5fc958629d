package report

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

type historyPage struct {
	page
	Sections []section
	Changes  *htmlTable
	Runs     []historyRun
	Reading  string
}

// historyRun is a run in the list of all.
type historyRun struct {
	Number               int
	Time, Device, Report string
	Marks                []RunMark
}

// RunMark is a change of a level that begins with a run.
type RunMark struct {
	Text string
	// Class is failed for a regression, and passed for an improvement.
	Class string
}

// html is the history in one file, with the look of a report.
func (h *History) html() ([]byte, error) {
	name := h.Benchmark
	if h.Namespace != "" {
		name = h.Namespace + "/" + name
	}
	p := historyPage{
		page:    page{Kicker: "History", Title: h.Benchmark, Subtitle: h.subtitle(), Banner: h.banner, Links: h.Links, Running: "NoDrop · history of " + name},
		Reading: htmlText(readingHistory),
	}
	p.Verdict, p.Tone, p.Message = "No regression", "good", htmlText(sentence(h.worst()))
	if h.Regressed() {
		p.Verdict, p.Tone = "Regression", "bad"
	} else if h.banner != "" {
		p.Tone = "plain" // Nothing that was not measured is green.
	}
	if h.banner != "" {
		p.Running = "SIMULATED · " + p.Running
	}
	for _, note := range h.pageNotes() {
		p.Notes = append(p.Notes, sentence(note))
	}
	for i, lines := range h.tables() {
		p.Sections = append(p.Sections, h.section(fmt.Sprintf("figure-%d", i+1), lines))
	}
	if changes := h.changesGrid(); len(changes.Rows) > 0 {
		if !slices.ContainsFunc(h.Runs, func(r history.RunInfo) bool { return r.Device != h.Runs[0].Device }) {
			withoutLast(changes) // The subtitle of the page names the device.
		}
		table := gridHTML(changes, "Changes of levels")
		marks := map[bool]string{true: "failed", false: "passed"}
		at := 0
		for _, l := range h.Lines {
			for _, c := range l.Changes {
				table.Rows[at].Class = strings.TrimSpace(table.Rows[at].Class + " change-" + marks[c.Regression])
				at++
			}
		}
		p.Changes = &table
	}
	for i := len(h.Runs) - 1; i >= 0; i-- {
		p.Runs = append(p.Runs, h.run(i))
	}
	p.Contents = append(p.Contents, Link{"Changes", "#changes"})
	for _, s := range p.Sections {
		p.Contents = append(p.Contents, Link{s.Title, "#" + s.ID})
	}
	p.Contents = append(p.Contents, Link{"Runs", "#runs"})
	return render("history", p)
}

// subtitle names the bed, the device if all runs have the same, and the time of the runs.
func (h *History) subtitle() string {
	var parts []string
	if h.TestBed != "" {
		parts = append(parts, "bed "+h.TestBed)
	}
	if device := h.Runs[0].Device; device != "" && !slices.ContainsFunc(h.Runs, func(r history.RunInfo) bool { return r.Device != device }) {
		parts = append(parts, device)
	}
	return sentence(strings.Join(append(parts, h.span()), " · "))
}

// pageNotes are the notes at the head of the page.
func (h *History) pageNotes() []string {
	var notes []string
	if h.Others > 0 {
		notes = append(notes, fmt.Sprintf("%s measured something else, other tests or traffic or ports than the newest one, and are left out", howMany(int(h.Others), "result")))
	}
	if note := h.namespaces(); note != "" {
		notes = append(notes, note)
	}
	if len(h.Unreadable) > 0 {
		notes = append(notes, "left out, "+unreadableText(h.Unreadable))
	}
	return notes
}

// run is a run in the list, with the changes that begin with it.
func (h *History) run(i int) historyRun {
	of := h.Runs[i]
	run := historyRun{Number: i + 1, Time: day(of.Time), Device: of.Device, Report: of.Report}
	for _, l := range h.Lines {
		for _, c := range l.Changes {
			if int(c.Run) != i {
				continue
			}
			text := metricTexts[l.Metric]
			mark := RunMark{fmt.Sprintf("%s: %s, %s", verdict(c), testName(l.Test, l.Variant)+" "+rowName(l.RowID), text.name), "passed"}
			if c.ShiftPPM != nil {
				mark.Text += " " + strings.Replace(percent(*c.ShiftPPM), "-", "−", 1) + " %"
			}
			if c.Regression {
				mark.Class = "failed"
			}
			run.Marks = append(run.Marks, mark)
		}
	}
	return run
}

// Marks are the changes of levels by the UID of the run that they begin with.
func (h *History) Marks() map[string][]RunMark {
	marks := map[string][]RunMark{}
	for i, run := range h.Runs {
		if all := h.run(i).Marks; len(all) > 0 {
			marks[run.UID] = all
		}
	}
	return marks
}

// maxLinesDrawn is the maximum number of rows of a table that have a drawing: those with changes first.
const maxLinesDrawn = 12

// section has the table of one figure, and a drawing of each of its rows.
func (h *History) section(id string, lines []history.Line) section {
	text := metricTexts[lines[0].Metric]
	title := fmt.Sprintf("Test %s: %s (%s)", testName(lines[0].Test, lines[0].Variant), text.name, text.better)
	grid := h.grid(lines)
	withoutLast(grid) // The drawings replace it.
	s := section{ID: id, Title: title, Table: gridHTML(grid, title)}
	drawn := slices.Clone(lines)
	slices.SortStableFunc(drawn, func(a, b history.Line) int { return min(len(b.Changes), 1) - min(len(a.Changes), 1) })
	for i, l := range drawn[:min(len(drawn), maxLinesDrawn)] {
		s.Charts = append(s.Charts, h.chart(fmt.Sprintf("%s-%d", id, i+1), l))
	}
	if more := len(drawn) - maxLinesDrawn; more > 0 {
		s.Purpose = fmt.Sprintf("%d further rows without a drawing are in the table.", more)
	}
	return s
}

// withoutLast removes the last column of a table.
func withoutLast(g *layout.Grid) {
	g.Columns = g.Columns[:len(g.Columns)-1]
	for i := range g.Rows {
		g.Rows[i] = g.Rows[i][:len(g.Rows[i])-1]
	}
}

// chart draws a figure over all runs: a band and a median for each level, and a mark for each run, which
// leads to its report.
func (h *History) chart(id string, l history.Line) *layout.Chart {
	text := metricTexts[l.Metric]
	c := &layout.Chart{ID: id, Title: rowName(l.RowID), Width: layout.ChartWidth, Height: 220, Left: 70, Top: 26, Right: 430, Bottom: 176, XTitle: "run"}
	unit := unitName(text.unit)
	scale := historyScale(l)
	c.YTitle = unit
	size := scale.size
	if scale.name != "" {
		c.YTitle = scale.name
	}
	lowest, highest := l.Points[0].Value, l.Points[0].Value
	for _, p := range l.Points {
		lowest, highest = min(lowest, p.Value), max(highest, p.Value)
	}
	last := max(len(h.Runs), 2)
	x := layout.Scale{Low: 1, High: float64(last), From: c.Left + 8, To: c.Right - 8}
	for _, n := range runTicks(last) {
		x.Ticks = append(x.Ticks, float64(n))
	}
	y := layout.RateScale(float64(lowest)/size, float64(highest)/size, c.Bottom, c.Top)
	c.Axes(&x, &y)
	at := func(run int32) float64 { return x.At(float64(run + 1)) }
	for i, level := range levels(l) {
		low, high := y.At(float64(level.high)/size), y.At(float64(level.low)/size)
		from, to := at(level.first)-4, at(level.last)+4
		middle := layout.Coordinate(y.At(float64(level.median) / size))
		band := layout.ChartBand{X: layout.Coordinate(from), Y: layout.Coordinate(low), Width: layout.Coordinate(to - from), Height: layout.Coordinate(max(high-low, 1)),
			Median: fmt.Sprintf("M%s %sH%s", layout.Coordinate(from), middle, layout.Coordinate(to))}
		if i > 0 && l.Changes[i-1].Regression {
			band.Class = "worse"
		}
		c.Bands = append(c.Bands, band)
		c.Description += fmt.Sprintf("Level %s %s from run %d. ", text.value(level.median), unit, level.first+1)
	}
	for _, change := range l.Changes {
		c.Events = append(c.Events, layout.ChartEvent{At: layout.Coordinate(at(change.Run)), Label: verdict(change), LabelX: layout.Coordinate(at(change.Run) - 3)})
		c.Description += fmt.Sprintf("%s at run %d, %s. ", sentence(verdict(change)), change.Run+1, day(h.Runs[change.Run].Time))
	}
	line := layout.ChartSeries{Color: layout.SeriesColor(1, 3)}
	for _, p := range l.Points {
		line.Marks = append(line.Marks, layout.ChartMark{
			Path:  layout.Marker(0, at(p.Run), y.At(float64(p.Value)/size)),
			Title: fmt.Sprintf("run %d, %s: %s %s", p.Run+1, day(h.Runs[p.Run].Time), text.value(p.Value), unit), Href: h.Runs[p.Run].Report,
		})
	}
	c.Series = []layout.ChartSeries{line}
	if y.Low > 0 {
		c.Caption = fmt.Sprintf("The axis begins at %s %s.", layout.TickLabel(y.Low), c.YTitle)
	}
	c.Description = strings.TrimSpace(c.Description)
	return c
}

// historyScale is the unit of the axis of a figure.
func historyScale(l history.Line) unitOf {
	highest := l.Points[0].Value
	for _, p := range l.Points {
		highest = max(highest, p.Value)
	}
	switch metricTexts[l.Metric].unit {
	case "us":
		return unitOf{"µs", 1000}
	case "%":
		return unitOf{"%", 10_000_000}
	}
	return largest(float64(highest), 1, unitOf{"million frames/s", 1_000_000}, unitOf{"thousand frames/s", 1000}, unitOf{"frames/s", 1})
}

// runTicks are some numbers of runs, with the first and the last one.
func runTicks(last int) []int {
	const most = 6
	step := max((last+most-2)/(most-1), 1)
	ticks := []int{1}
	for n := step; n < last; n += step {
		if n > 1 && last-n > step/2 {
			ticks = append(ticks, n)
		}
	}
	return append(ticks, last)
}

// level is a time in which a figure did not change.
type level struct {
	first, last       int32
	low, high, median int64
}

// levels divides the runs of a figure at its changes. A band is from the 5th to the 95th percentile.
func levels(l history.Line) []level {
	var all []level
	begin := 0
	for i := range l.Points {
		if i+1 < len(l.Points) && !slices.ContainsFunc(l.Changes, func(c history.Change) bool { return c.Run == l.Points[i+1].Run }) {
			continue
		}
		var values []int64
		for _, p := range l.Points[begin : i+1] {
			values = append(values, p.Value)
		}
		slices.Sort(values)
		twentieth := len(values) / 20
		one := level{l.Points[begin].Run, l.Points[i].Run, values[twentieth], values[len(values)-1-twentieth], l.Level}
		if n := len(all); n < len(l.Changes) {
			one.median = l.Changes[n].From
		}
		all, begin = append(all, one), i+1
	}
	return all
}
