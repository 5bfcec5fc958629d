package report

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// throughputBySize draws the throughput of every frame size as a share of line rate,
// and the partial drop rates next to it.
func throughputBySize(id string, rows []v1alpha1.ResultRow, unit layout.BitUnit) *layout.Chart {
	title := "Throughput by frame size"
	if withPartialDrop(rows) {
		title = "Throughput and partial drop rate by frame size"
	}
	c := bars(id, title, rows, 300)
	c.XTitle = loadAxis(rows)
	x := layout.Scale{Low: 0, High: 100, From: c.Left, To: c.Right, Ticks: []float64{0, 25, 50, 75, 100}}
	c.Axes(&x, nil)
	for i, row := range rows {
		offered := trials.Offered(&row)
		end := x.At(float64(offered.LineRatePPM) / 10_000)
		value := fmt.Sprintf("%s %s", layout.Fixed(offered.BitsPerSecond, unit.Bits, 3), unit.Name)
		addBar(c, i, sizeLabel(&row), value, c.Left, end)
		markDoubt(c, i, &row)
		c.Description += fmt.Sprintf("%s: %s, %s. ", sizeLabel(&row), shareInWords(&row), value)
	}
	return c
}

// latencyBySize draws the range and the mean of latency of every frame size. It
// is nil when there is no latency.
func latencyBySize(id string, rows []v1alpha1.ResultRow) *layout.Chart {
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
	x := layout.ScaleFor(float64(lowest)/1000, float64(highest)/1000, c.Left, c.Right)
	c.XTitle, c.Caption = "latency, µs", "From the lowest to the highest latency; the line and the figure are the mean."
	if x.Log {
		c.XTitle = "latency, µs (logarithmic)"
	}
	c.Axes(&x, nil)
	for i, row := range rows {
		l := row.Latency
		if l == nil {
			addBar(c, i, sizeLabel(&row), "none", c.Left, c.Left)
			c.Description += sizeLabel(&row) + ": none. "
			continue
		}
		position := func(ns int64) float64 {
			if x.Log {
				ns = max(ns, lowest)
			}
			return x.At(float64(ns) / 1000)
		}
		addBar(c, i, sizeLabel(&row), layout.Micros(l.AvgNs), position(l.MinNs), position(l.MaxNs))
		c.Bars[i].Mark, c.Bars[i].Class = layout.Coordinate(position(l.AvgNs)), "range"
		markDoubt(c, i, &row)
		c.Description += fmt.Sprintf("%s: %s to %s µs, mean %s µs. ", sizeLabel(&row), layout.Micros(l.MinNs), layout.Micros(l.MaxNs), layout.Micros(l.AvgNs))
	}
	return c
}

// markDoubt outlines the bar of a row that cannot be judged by, and says so below the chart.
func markDoubt(c *layout.Chart, i int, row *v1alpha1.ResultRow) {
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

func bars(id, title string, rows []v1alpha1.ResultRow, right float64) *layout.Chart {
	c := &layout.Chart{ID: id, Title: title, Width: layout.ChartWidth, Left: 56 + labelSpace(rows), Top: 10, Right: right}
	c.Bottom = c.Top + float64(len(rows))*layout.BarPitch
	c.Height = c.Bottom + 44
	return c
}

func addBar(c *layout.Chart, i int, label, value string, from, to float64) {
	const thickness = 12
	middle := c.Top + (float64(i)+0.5)*layout.BarPitch
	c.Bars = append(c.Bars, layout.ChartBar{
		Label: label, Value: value, Y: layout.Coordinate(middle),
		BarX: layout.Coordinate(from), BarWidth: layout.Coordinate(max(to-from, 1)), BarEnd: layout.Coordinate(to),
		BarY: layout.Coordinate(middle - thickness/2), Height: layout.Coordinate(thickness),
	})
}
