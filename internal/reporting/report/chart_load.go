package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// latencyAgainstLoad draws a latency of every frame size against the load. It is
// nil when the rows are not of several loads.
func latencyAgainstLoad(id, what string, rows []v1alpha1.ResultRow, latency func(*v1alpha1.LatencySummary) int64) *layout.Chart {
	c := &layout.Chart{ID: id, Title: what + " latency against load", Width: layout.ChartWidth, Height: 340,
		Left: 46, Top: 26, Right: 362, Bottom: 296, XTitle: "offered load, " + loadAxis(rows), YTitle: "latency, µs"}
	c.Right -= labelSpace(rows)
	var lines [][]loadPoint
	at := map[string]int{}
	several, doubtful := false, false
	lowest, highest, load := int64(0), int64(0), int64(0)
	for _, row := range rows {
		offered := trials.Offered(&row).LineRatePPM
		if row.Latency == nil || offered <= 0 {
			continue
		}
		p := loadPoint{label: sizeLabel(&row), ppm: offered, ns: latency(row.Latency), lost: row.Frames.Lost > 0}
		i, known := at[p.label]
		if !known {
			i = len(lines)
			at[p.label] = i
			lines = append(lines, nil)
		}
		if p.ns > 0 && (lowest == 0 || p.ns < lowest) {
			lowest = p.ns
		}
		doubtful = doubtful || !result.Trusted(row.Validity)
		highest, load = max(highest, p.ns), max(load, p.ppm)
		several = several || known && !slices.ContainsFunc(lines[i], func(q loadPoint) bool { return q.ppm == p.ppm })
		lines[i] = append(lines[i], p)
	}
	if !several || highest == 0 {
		return nil
	}
	x := layout.ScaleFor(0, float64(load)/10_000, c.Left, c.Right)
	if load > 500_000 {
		x = layout.Scale{Low: 0, High: 100, From: c.Left, To: c.Right, Ticks: []float64{0, 20, 40, 60, 80, 100}}
	}
	y := layout.ScaleFor(float64(lowest)/1000, float64(highest)/1000, c.Bottom, c.Top)
	if y.Log {
		c.YTitle = "latency, µs (logarithmic)"
	}
	c.Axes(&x, &y)
	lossy := false
	for i, line := range lines {
		slices.SortStableFunc(line, func(a, b loadPoint) int { return cmp.Compare(a.ppm, b.ppm) })
		lossy = lossy || slices.ContainsFunc(line, func(p loadPoint) bool { return p.lost })
		addLine(c, i, len(lines), line, x, y)
	}
	chartLabel(c)
	if lossy {
		c.Caption = "Open marks: frames were lost at that load, so the queue of the device was full. They are not joined with the others. "
	}
	if doubtful {
		c.Caption += "Some of these rows are in doubt: see validity in the table."
	}
	return c
}

// loadPoint is the latency at one load.
type loadPoint struct {
	label   string
	ppm, ns int64
	lost    bool
}

func addLine(c *layout.Chart, i, n int, line []loadPoint, x, y layout.Scale) {
	s := layout.ChartSeries{Color: layout.SeriesColor(i, n), Dash: layout.Dashes[i%len(layout.Dashes)], Label: line[0].label}
	var texts []string
	endX, endY := 0.0, 0.0
	for _, p := range line {
		ns := p.ns
		if y.Log {
			ns = max(ns, 1)
		}
		px, py := x.At(float64(p.ppm)/10_000), y.At(float64(ns)/1000)
		if !p.lost || endX == 0 {
			endX, endY = px, py
		}
		if !p.lost {
			step := "L"
			if s.Path == "" {
				step = "M"
			}
			s.Path += step + layout.Coordinate(px) + " " + layout.Coordinate(py)
		}
		text := fmt.Sprintf("%s µs at %s", layout.Micros(p.ns), v1alpha1.FormatPPM(p.ppm))
		if p.lost {
			text += " with loss"
		}
		texts = append(texts, text)
		s.Marks = append(s.Marks, layout.ChartMark{Path: layout.Marker(i, px, py), Open: p.lost, Title: p.label + ": " + text})
	}
	s.EndX, s.EndY = endX, endY
	c.Series = append(c.Series, s)
	c.Description += line[0].label + ": " + strings.Join(texts, ", ") + ". "
}

// chartLabel puts the names of the series next to the ends of their lines, apart from
// each other.
func chartLabel(c *layout.Chart) {
	order := make([]*layout.ChartSeries, len(c.Series))
	for i := range c.Series {
		order[i] = &c.Series[i]
		order[i].Shape = i
	}
	slices.SortStableFunc(order, func(a, b *layout.ChartSeries) int { return cmp.Compare(a.EndY, b.EndY) })
	positions := make([]float64, len(order))
	for i, s := range order {
		positions[i] = s.EndY
	}
	const keyAt, labelAt, pitch = 17, 25, 15
	for i, at := range layout.Place(positions, pitch, c.Top, c.Bottom) {
		s := order[i]
		s.Leader = fmt.Sprintf("M%s %sL%s %s", layout.Coordinate(s.EndX+5), layout.Coordinate(s.EndY), layout.Coordinate(c.Right+keyAt-6), layout.Coordinate(at))
		s.Key = layout.Marker(s.Shape, c.Right+keyAt, at)
		s.LabelX, s.LabelY = layout.Coordinate(c.Right+labelAt), layout.Coordinate(at)
	}
	c.Description = strings.TrimSpace(c.Description)
}
