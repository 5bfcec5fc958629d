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

// ratesOverTime draws the rates in the course of a row's trial, and its events. It is nil
// when the rates were not sampled.
func (t testResults) ratesOverTime(id string, row v1alpha1.ResultRow) *layout.Chart {
	s := row.Series
	if s == nil || s.Points.Len() == 0 || len(s.Points.SentFramesPerSecond) != s.Points.Len() {
		return nil
	}
	c := &layout.Chart{ID: id, Title: "Rates over time, " + row.SizeName(), Width: layout.ChartWidth, Height: 340,
		Left: 46, Top: 26, Right: 362, Bottom: 296}
	if row.Load != "" {
		c.Title += " at " + string(row.Load)
	}
	p := &s.Points
	end := float64(s.DurationMilliseconds)
	highest := max(1, slices.Max(p.SentFramesPerSecond), slices.Max(p.ReceivedFramesPerSecond))
	stable := stableOf(row)
	if stable != nil {
		highest = max(highest, slices.Max(stable.Points.ReceivedFramesPerSecond))
	}
	joined := len(p.MinReceivedFramesPerSecond) > 0
	time := largest(end, 3, unitOf{"h", 3_600_000}, unitOf{"min", 60_000}, unitOf{"s", 1000}, unitOf{"ms", 1})
	rate := largest(float64(highest), 1, unitOf{"million frames/s", 1_000_000}, unitOf{"thousand frames/s", 1000}, unitOf{"frames/s", 1})
	c.XTitle, c.YTitle = "time, "+time.name, rate.name
	x := layout.ScaleFor(0, end/time.size, c.Left, c.Right)
	y := layout.ScaleFor(0, float64(highest)/rate.size, c.Bottom, c.Top)
	c.Axes(&x, &y)
	type line struct {
		label  string
		of     *v1alpha1.RateSeries
		values []int64
	}
	lines := []line{{"sent", s, p.SentFramesPerSecond}, {"received", s, p.ReceivedFramesPerSecond}}
	if joined {
		lines = append(lines, line{"lowest", s, p.MinReceivedFramesPerSecond})
	}
	if stable != nil {
		lines = append(lines, line{"stable", stable, stable.Points.ReceivedFramesPerSecond})
	}
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
	if joined {
		c.Caption = fmt.Sprintf("A point joins several of the %s sampling intervals; “lowest” is the lowest receive rate of any of them. ", layout.Group(int64(s.Samples)))
	}
	if stable != nil {
		c.Caption += "“stable” is the receive rate of the networks that do not flap; the other lines are of those that do. "
	}
	if len(c.Events) > 0 {
		c.Caption += "Vertical lines are where events were due to begin. "
	}
	if !result.Trusted(row.Validity) {
		c.Caption += "This row is in doubt: see validity in the table."
	}
	c.Caption = strings.TrimSpace(c.Caption)
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
