package report

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method/trials"
	"nodrop.dev/nodrop/internal/result"
)

// throughputBySize draws the throughput of every frame size as a share of line rate,
// and the partial drop rates next to it.
func throughputBySize(id string, rows []v1alpha1.ResultRow, unit bitUnit) *chart {
	title := "Throughput by frame size"
	if withPartialDrop(rows) {
		title = "Throughput and partial drop rate by frame size"
	}
	c := bars(id, title, rows, 300)
	c.XTitle = loadAxis(rows)
	x := scale{low: 0, high: 100, from: c.Left, to: c.Right, ticks: []float64{0, 25, 50, 75, 100}}
	c.axes(&x, nil)
	for i, row := range rows {
		offered := trials.Offered(&row)
		end := x.at(float64(offered.LineRatePPM) / 10_000)
		value := fmt.Sprintf("%s %s", fixed(offered.BitsPerSecond, unit.bits, 3), unit.name)
		c.addBar(i, sizeLabel(&row), value, c.Left, end)
		c.doubt(i, &row)
		c.Description += fmt.Sprintf("%s: %s, %s. ", sizeLabel(&row), shareInWords(&row), value)
	}
	return c
}

// latencyBySize draws the range and the mean of latency of every frame size. It
// is nil when there is no latency.
func latencyBySize(id string, rows []v1alpha1.ResultRow) *chart {
	title := "Latency at the throughput by frame size"
	if withPartialDrop(rows) {
		title = "Latency at these rates by frame size"
	}
	c := bars(id, title, rows, 336)
	lowest, highest := int64(0), int64(0)
	for _, row := range rows {
		if l := row.Latency; l != nil {
			if l.MinNs > 0 && (lowest == 0 || l.MinNs < lowest) {
				lowest = l.MinNs
			}
			highest = max(highest, l.MaxNs)
		}
	}
	if highest == 0 {
		return nil
	}
	x := scaleFor(float64(lowest)/1000, float64(highest)/1000, c.Left, c.Right)
	c.XTitle, c.Caption = "latency, µs", "From the lowest to the highest latency; the line and the figure are the mean."
	if x.log {
		c.XTitle = "latency, µs (logarithmic)"
	}
	c.axes(&x, nil)
	for i, row := range rows {
		l := row.Latency
		if l == nil {
			c.addBar(i, sizeLabel(&row), "none", c.Left, c.Left)
			c.Description += sizeLabel(&row) + ": none. "
			continue
		}
		position := func(ns int64) float64 {
			if x.log {
				ns = max(ns, lowest)
			}
			return x.at(float64(ns) / 1000)
		}
		c.addBar(i, sizeLabel(&row), micros(l.AvgNs), position(l.MinNs), position(l.MaxNs))
		c.Bars[i].Mark, c.Bars[i].Class = coordinate(position(l.AvgNs)), "range"
		c.doubt(i, &row)
		c.Description += fmt.Sprintf("%s: %s to %s µs, mean %s µs. ", sizeLabel(&row), micros(l.MinNs), micros(l.MaxNs), micros(l.AvgNs))
	}
	return c
}

// doubt outlines the bar of a row that cannot be judged by, and says so below the chart.
func (c *chart) doubt(i int, row *v1alpha1.ResultRow) {
	const caption = "Outlined bars: the row is in doubt, see validity in the table."
	if result.Trusted(row.Validity) {
		return
	}
	c.Bars[i].Class = strings.TrimSpace(c.Bars[i].Class + " doubtful")
	if !strings.Contains(c.Caption, caption) {
		c.Caption = strings.TrimSpace(c.Caption + " " + caption)
	}
}

// withPartialDrop reports whether rows are about loads at which frames may be lost.
func withPartialDrop(rows []v1alpha1.ResultRow) bool {
	return slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.LossRatioPPM > 0 })
}

func bars(id, title string, rows []v1alpha1.ResultRow, right float64) *chart {
	c := &chart{ID: id, Title: title, Width: chartWidth, Left: 56 + labelSpace(rows), Top: 10, Right: right}
	c.Bottom = c.Top + float64(len(rows))*barPitch
	c.Height = c.Bottom + 44
	return c
}

func (c *chart) addBar(i int, label, value string, from, to float64) {
	const thickness = 12
	middle := c.Top + (float64(i)+0.5)*barPitch
	c.Bars = append(c.Bars, chartBar{
		Label: label, Value: value, Y: coordinate(middle),
		BarX: coordinate(from), BarWidth: coordinate(max(to-from, 1)), BarEnd: coordinate(to),
		BarY: coordinate(middle - thickness/2), Height: coordinate(thickness),
	})
}
