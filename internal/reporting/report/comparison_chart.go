package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// maxGroups is the maximum number of rows in a chart of a comparison.
const maxGroups = 24

// value is a figure of a chart of a comparison, in the unit of its axis, with the interval in which it
// lies.
type comparedValue struct {
	at, low, high float64
	known, ranged bool
	text          string
}

// chart draws a table of the comparison: grouped bars for shares, dots with intervals for times. It is
// nil if no result has a value.
func (c *Comparison) chart(id string, lines comparedLines) *layout.Chart {
	metric, text := lines[0].Metric, metricTexts[lines[0].Metric]
	dots := metric != compare.Throughput && metric != compare.FrameLoss && metric != compare.Goodput
	shown := lines[:min(len(lines), maxGroups)]
	const bar, between = 12.0, 10.0
	group := float64(len(c.Results))*bar + between
	ch := &layout.Chart{ID: id, Title: sentence(htmlUnits.Replace(text.name)) + ", " + strings.ReplaceAll(text.unit, "us", "µs"), Width: layout.ChartWidth, Left: 120, Top: 10, Right: 350}
	if metric == compare.Throughput {
		ch.Title = "Throughput, % of line rate"
	}
	ch.Bottom = ch.Top + float64(len(shown))*group
	ch.Height = ch.Bottom + 44
	values := make([][]comparedValue, len(shown))
	lowest, highest, any := 0.0, 0.0, false
	for i, l := range shown {
		for j := range c.Results {
			v := c.valueOf(l, j)
			values[i] = append(values[i], v)
			if !v.known {
				continue
			}
			if low := min(v.at, v.low); !any || low < lowest {
				lowest = low
			}
			highest, any = max(highest, v.at, v.high), true
		}
	}
	if !any {
		return nil
	}
	x := layout.ScaleFor(0, highest, ch.Left, ch.Right)
	switch {
	case metric == compare.Throughput:
		x = layout.Scale{Low: 0, High: 100, From: ch.Left, To: ch.Right, Ticks: []float64{0, 25, 50, 75, 100}}
	case dots && lowest > 0 && highest/lowest >= 20:
		x = layout.ScaleFor(lowest, highest, ch.Left, ch.Right)
	case dots:
		x = layout.RateScale(lowest, highest, ch.Left, ch.Right)
	}
	ch.XTitle = strings.ReplaceAll(text.unit, "us", "µs")
	if metric == compare.Throughput {
		ch.XTitle = "% of line rate"
	}
	if x.Log {
		ch.XTitle += " (logarithmic)"
	}
	ch.Axes(&x, nil)
	ranged := false
	for i, l := range shown {
		top := ch.Top + float64(i)*group + between/2
		for j, v := range values[i] {
			middle := top + (float64(j)+.5)*bar
			b := layout.ChartBar{Y: layout.Coordinate(middle), Value: v.text, Color: layout.SeriesColor(j, len(c.Results)), At: layout.Coordinate(top + float64(len(c.Results))*bar/2)}
			if j == 0 {
				b.Label = rowName(l.RowID)
			}
			b.Title = fmt.Sprintf("%s, %s: %s", rowName(l.RowID), c.Results[j].Name, v.text)
			ch.Description += b.Title + ". "
			switch {
			case !v.known:
			case dots:
				b.Dot = layout.Marker(j, x.At(v.at), middle)
			default:
				b.BarX, b.BarY = layout.Coordinate(ch.Left), layout.Coordinate(middle-bar/2+1)
				b.BarWidth, b.Height = layout.Coordinate(max(x.At(v.at)-ch.Left, 1)), layout.Coordinate(bar-2)
			}
			if v.known && v.ranged && dots {
				ranged = true
				b.Whisker = fmt.Sprintf("M%s %sH%s", layout.Coordinate(x.At(v.low)), layout.Coordinate(middle), layout.Coordinate(x.At(v.high)))
			}
			ch.Bars = append(ch.Bars, b)
		}
	}
	for j, r := range c.Results {
		ch.Legend = append(ch.Legend, layout.ChartKey{Color: layout.SeriesColor(j, len(c.Results)), Mark: layout.Marker(map[bool]int{true: j, false: 1}[dots], 5, 5), Name: r.Name})
	}
	if ranged {
		ch.Caption = "Lines are intervals of repeated rows, with the confidence that each report names. "
	}
	if x.Low > 0 && !x.Log {
		ch.Caption += fmt.Sprintf("The axis begins at %s %s. ", layout.TickLabel(x.Low), ch.XTitle)
	}
	if len(shown) < len(lines) {
		ch.Caption += fmt.Sprintf("The first %d of %d rows; the table has all of them.", len(shown), len(lines))
	}
	ch.Caption, ch.Description = strings.TrimSpace(ch.Caption), strings.TrimSpace(ch.Description)
	return ch
}

// valueOf is the value of a result in a line, in the unit of its chart.
func (c *Comparison) valueOf(l compare.Line, result int) comparedValue {
	cell := l.Cells[result]
	if cell.Value == nil || cell.Status != compare.Ranked {
		return comparedValue{text: notApplicable}
	}
	row := c.row(result, l.RowID)
	scale := 1.0
	switch l.Metric {
	case compare.Throughput:
		if row == nil {
			return comparedValue{text: notApplicable}
		}
		ppm := trials.Offered(row).LineRatePPM
		at := float64(ppm) / 10_000
		return comparedValue{at: at, low: at, high: at, known: true, text: layout.Fixed(ppm, 10_000, 2) + "%"}
	case compare.FrameLoss:
		scale = 10_000_000
	case compare.Goodput:
		scale = 1_000_000
	case compare.LatencyAvg, compare.LatencyMax:
		scale = 1000
	}
	v := comparedValue{at: float64(*cell.Value) / scale, known: true, text: metricTexts[l.Metric].value(*cell.Value)}
	v.low, v.high = v.at, v.at
	if row != nil {
		if f := row.Repeated.Figure(string(l.Metric)); f != nil && f.High > f.Low {
			v.low, v.high, v.ranged = float64(f.Low)/scale, float64(f.High)/scale, true
		}
	}
	return v
}

// row is a row of a result; nil if it has none.
func (c *Comparison) row(result int, id v1alpha1.RowID) *v1alpha1.ResultRow {
	for i := range c.documents[result].Rows {
		if c.documents[result].Rows[i].RowID == id {
			return &c.documents[result].Rows[i]
		}
	}
	return nil
}
