package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method/trials"
	"nodrop.dev/nodrop/internal/result"
)

// latencyAgainstLoad draws a latency of every frame size against the load. It is
// nil when the rows are not of several loads.
func latencyAgainstLoad(id, what string, rows []v1alpha1.ResultRow, latency func(*v1alpha1.LatencySummary) int64) *chart {
	c := &chart{ID: id, Title: what + " latency against load", Width: chartWidth, Height: 340,
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
	x := scaleFor(0, float64(load)/10_000, c.Left, c.Right)
	if load > 500_000 {
		x = scale{low: 0, high: 100, from: c.Left, to: c.Right, ticks: []float64{0, 20, 40, 60, 80, 100}}
	}
	y := scaleFor(float64(lowest)/1000, float64(highest)/1000, c.Bottom, c.Top)
	if y.log {
		c.YTitle = "latency, µs (logarithmic)"
	}
	c.axes(&x, &y)
	lossy := false
	for i, line := range lines {
		slices.SortStableFunc(line, func(a, b loadPoint) int { return cmp.Compare(a.ppm, b.ppm) })
		lossy = lossy || slices.ContainsFunc(line, func(p loadPoint) bool { return p.lost })
		c.addLine(i, len(lines), line, x, y)
	}
	c.label()
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

func (c *chart) addLine(i, n int, line []loadPoint, x, y scale) {
	s := chartSeries{Color: seriesColor(i, n), Dash: dashes[i%len(dashes)], Label: line[0].label}
	var texts []string
	endX, endY := 0.0, 0.0
	for _, p := range line {
		ns := p.ns
		if y.log {
			ns = max(ns, 1)
		}
		px, py := x.at(float64(p.ppm)/10_000), y.at(float64(ns)/1000)
		if !p.lost || endX == 0 {
			endX, endY = px, py
		}
		if !p.lost {
			step := "L"
			if s.Path == "" {
				step = "M"
			}
			s.Path += step + coordinate(px) + " " + coordinate(py)
		}
		text := fmt.Sprintf("%s µs at %s", micros(p.ns), v1alpha1.FormatPPM(p.ppm))
		if p.lost {
			text += " with loss"
		}
		texts = append(texts, text)
		s.Marks = append(s.Marks, chartMark{marker(i, px, py), p.lost, p.label + ": " + text})
	}
	s.endX, s.endY = endX, endY
	c.Series = append(c.Series, s)
	c.Description += line[0].label + ": " + strings.Join(texts, ", ") + ". "
}

// label puts the names of the series next to the ends of their lines, apart from
// each other.
func (c *chart) label() {
	order := make([]*chartSeries, len(c.Series))
	for i := range c.Series {
		order[i] = &c.Series[i]
		order[i].shape = i
	}
	slices.SortStableFunc(order, func(a, b *chartSeries) int { return cmp.Compare(a.endY, b.endY) })
	positions := make([]float64, len(order))
	for i, s := range order {
		positions[i] = s.endY
	}
	const keyAt, labelAt, pitch = 17, 25, 15
	for i, at := range place(positions, pitch, c.Top, c.Bottom) {
		s := order[i]
		s.Leader = fmt.Sprintf("M%s %sL%s %s", coordinate(s.endX+5), coordinate(s.endY), coordinate(c.Right+keyAt-6), coordinate(at))
		s.Key = marker(s.shape, c.Right+keyAt, at)
		s.LabelX, s.LabelY = coordinate(c.Right+labelAt), coordinate(at)
	}
	c.Description = strings.TrimSpace(c.Description)
}
