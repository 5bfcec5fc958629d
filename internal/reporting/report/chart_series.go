package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// unitOf is a unit and how many of the smallest one it is.
type unitOf struct {
	name string
	size float64
}

// largest chooses the first unit, of those that are given from the largest down, in
// which a value is at least least.
func largest(value, least float64, units ...unitOf) unitOf {
	for _, u := range units {
		if value >= least*u.size {
			return u
		}
	}
	return units[len(units)-1]
}

// ratesOverTime draws the rates in the course of a row's trial, and its events. Networks that do not
// flap have a drawing of their own, so that each axis fits. There is none when the rates were not
// sampled.
func (t testResults) ratesOverTime(id string, row v1alpha1.ResultRow) []*layout.Chart {
	s := row.Series
	if s == nil || s.Points.Len() == 0 || len(s.Points.SentFramesPerSecond) != s.Points.Len() {
		return nil
	}
	p := &s.Points
	title := "Rates over time, " + row.SizeName()
	if row.Load != "" {
		title += " at " + string(row.Load)
	}
	lines := []rateLine{{"sent", s, p.SentFramesPerSecond}, {"received", s, p.ReceivedFramesPerSecond}}
	joined := len(p.MinReceivedFramesPerSecond) > 0
	if joined && !slices.Equal(p.MinReceivedFramesPerSecond, p.ReceivedFramesPerSecond) {
		lines = append(lines, rateLine{"lowest", s, p.MinReceivedFramesPerSecond})
	}
	var charts []*layout.Chart
	if stable := stableOf(row); stable != nil {
		received := []rateLine{{"received", stable, stable.Points.ReceivedFramesPerSecond}}
		charts = []*layout.Chart{t.ratesChart(id, title+", flapping networks", lines, row), t.ratesChart(id+"-stable", title+", stable networks", received, row)}
	} else {
		charts = []*layout.Chart{t.ratesChart(id, title, lines, row)}
	}
	if joined {
		lowest := "; “lowest” is the lowest receive rate of any of them"
		if len(lines) == 2 {
			lowest = ", which all have the same receive rate"
		}
		charts[0].Caption = fmt.Sprintf("A point joins several of the %s sampling intervals%s. %s", layout.Group(int64(s.Samples)), lowest, charts[0].Caption)
	}
	for _, c := range charts {
		c.Caption = strings.TrimSpace(c.Caption)
	}
	return charts
}

// rateLine is a line of a chart of rates.
type rateLine struct {
	label  string
	of     *v1alpha1.RateSeries
	values []int64
}

// ratesChart draws lines over time. The time axis ends with the data, and the axis of rates begins
// near the lowest one where all are high, so that dips are visible.
func (t testResults) ratesChart(id, title string, lines []rateLine, row v1alpha1.ResultRow) *layout.Chart {
	c := &layout.Chart{ID: id, Title: title, Wide: true, Width: layout.WideChart, Height: 340, Left: 52, Top: 26, Right: layout.WideChart - 78, Bottom: 296}
	end, lowest, highest := 0.0, lines[0].values[0], int64(1)
	for _, l := range lines {
		end = max(end, float64(l.of.DurationMilliseconds))
		lowest, highest = min(lowest, slices.Min(l.values)), max(highest, slices.Max(l.values))
	}
	time := largest(end, 3, unitOf{"h", 3_600_000}, unitOf{"min", 60_000}, unitOf{"s", 1000}, unitOf{"ms", 1})
	rate := largest(float64(highest), 1, unitOf{"million frames/s", 1_000_000}, unitOf{"thousand frames/s", 1000}, unitOf{"frames/s", 1})
	c.XTitle, c.YTitle = "time, "+time.name, rate.name
	x := layout.EndingScale(end/time.size, c.Left, c.Right)
	y := layout.RateScale(float64(lowest)/rate.size, float64(highest)/rate.size, c.Bottom, c.Top)
	c.Axes(&x, &y)
	for i, l := range lines {
		// What lies over the others is drawn last, and leaves gaps to look through.
		line := layout.ChartSeries{Color: layout.SeriesColor(i, len(lines)), Dash: layout.Dashes[i], Label: l.label}
		for j, value := range l.values {
			line.EndX, line.EndY = x.At(float64(l.of.EndMilliseconds(j))/time.size), y.At(float64(value)/rate.size)
			step := "L"
			if j == 0 {
				step = "M"
			}
			line.Path += step + layout.Coordinate(line.EndX) + " " + layout.Coordinate(line.EndY)
		}
		c.Series = append(c.Series, line)
		c.Description += fmt.Sprintf("%s: %s to %s frames/s, %s at the end. ", l.label, layout.Group(slices.Min(l.values)), layout.Group(slices.Max(l.values)), layout.Group(l.values[len(l.values)-1]))
	}
	addMark(c, t.moments(), func(ms float64) float64 { return x.At(ms / time.size) })
	chartLabel(c)
	if y.Low > 0 {
		c.Caption += fmt.Sprintf("The axis begins at %s %s. ", layout.TickLabel(y.Low), rate.name)
	}
	if len(c.Events) > 0 {
		c.Caption += "Vertical lines are where events were due to begin. "
	}
	if !result.Trusted(row.Validity) {
		c.Caption += "This row is in doubt: see validity in the table."
	}
	return c
}

// stableOf is the series of the streams of a row that its events are not about; nil when
// there is none.
func stableOf(row v1alpha1.ResultRow) *v1alpha1.RateSeries {
	own, _ := method.Describe(row.Method)
	if own.Stable == nil {
		return nil
	}
	if s := own.Stable(&row); s != nil && s.Points.Len() > 0 {
		return s
	}
	return nil
}

// moments are the events in the trials of the test; none when the test is not known.
func (t testResults) moments() []trials.Moment {
	own, _ := method.Describe(t.rows[0].Method)
	if own.Moments == nil || t.test == nil || !own.Given(*t.test) {
		return nil
	}
	return own.Moments(*t.test)
}

// addMark draws events at where says of their time in milliseconds.
func addMark(c *layout.Chart, events []trials.Moment, where func(ms float64) float64) {
	const pitch = 12
	labelled := math.Inf(-1)
	for _, e := range events {
		at, name := where(float64(e.At.Milliseconds())), strings.ToLower(string(e.Kind))
		mark := layout.ChartEvent{At: layout.Coordinate(at)}
		if at-labelled >= pitch {
			labelled, mark.Label, mark.LabelX = at, name, layout.Coordinate(at-3)
		}
		c.Events = append(c.Events, mark)
		c.Description += fmt.Sprintf("%s at %s. ", name, e.At)
	}
}
