package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/method/trials"
	"nodrop.dev/nodrop/internal/report/layout"
)

// latencyHeading is above latency, with what the engines time: from the first bit of a
// frame in to its last bit out. Of a model only its source knows.
func (d *Document) latencyHeading() string {
	if d.simulated() {
		return "latency, us"
	}
	return "latency FILO, us"
}

// tableOf is the table of a test, in the columns of published reports.
func (d *Document) tableOf(rows []v1alpha1.ResultRow, unit layout.BitUnit) *layout.Grid {
	// Tests that send no test frames have neither sizes nor rates.
	withFrames := slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Frames != nil })
	g := &layout.Grid{}
	if withFrames {
		g.Columns = append(g.Columns, d.sizeColumn())
	}
	withLoad := slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Load != "" })
	withIntended := withFrames && !withLoad && (ofFullLoad(rows) || slices.ContainsFunc(rows, showsIntended))
	own, _ := method.Describe(rows[0].Method)
	measuresItself := len(own.Columns) > 0
	if withLoad {
		g.Columns = append(g.Columns, intendedColumn(rows))
	}
	withLoss := withPartialDrop(rows)
	if withLoss {
		g.Columns = append(g.Columns, layout.Column{Name: "goal", Left: true})
	}
	if withIntended {
		g.Columns = append(g.Columns, searchedColumn(rows))
	}
	if withFrames {
		g.Columns = append(g.Columns,
			layout.Column{Heading: loadHeading(rows), Name: "frames/s"}, layout.Column{Heading: loadHeading(rows), Name: unit.Name}, shareColumn(rows))
	}
	switch {
	case measuresItself:
		for _, c := range own.RowColumns() {
			g.Columns = append(g.Columns, layout.Column{Heading: c.Heading, Name: c.Name})
		}
	case withFrames:
		g.Columns = append(g.Columns,
			layout.Column{Heading: d.latencyHeading(), Name: "min"}, layout.Column{Heading: d.latencyHeading(), Name: "avg"}, layout.Column{Heading: d.latencyHeading(), Name: "max"},
			layout.Column{Heading: "jitter, us", Name: "avg"}, layout.Column{Heading: "jitter, us", Name: "max"})
	}
	if withFrames {
		g.Columns = append(g.Columns, layout.Column{Heading: "frames", Name: "lost"})
	}
	g.Columns = append(g.Columns, layout.Column{Name: "validity", Left: true})
	for _, row := range rows {
		var cells []string
		if withFrames {
			cells = append(cells, sizeCell(row.FrameSize, row.FrameMix))
		}
		if withLoad {
			cells = append(cells, string(row.Load))
		}
		if withLoss {
			cells = append(cells, goalName(row))
		}
		known := row.Frames != nil && !unmeasured(&row)
		switch {
		case withIntended && known:
			cells = append(cells, layout.Fixed(row.Frames.LineRatePPM, 10_000, 4))
		case withIntended:
			cells = append(cells, "-")
		}
		switch offered := trials.Offered(&row); {
		case withFrames && known:
			cells = append(cells, layout.Group(offered.FramesPerSecond), layout.Fixed(offered.BitsPerSecond, unit.Bits, 3), shareCell(&row))
		case withFrames:
			cells = append(cells, "-", "-", "-")
		}
		switch l := row.Latency; {
		case measuresItself:
			for _, c := range own.RowColumns() {
				cells = append(cells, cell(c, &row))
			}
		case l != nil && withFrames:
			cells = append(cells, layout.Micros(l.MinNs), layout.Micros(l.AvgNs), layout.Micros(l.MaxNs), jitterCell(l.JitterAvgNs), jitterCell(l.JitterMaxNs))
		case withFrames:
			cells = append(cells, "-", "-", "-", "-", "-")
		}
		if withFrames {
			cells = append(cells, lostCell(&row))
		}
		g.Rows = append(g.Rows, append(cells, string(row.Validity)))
	}
	return g
}

// unmeasured reports whether a row has no figures: nothing was sent for it, and its message
// says why. A throughput of 0 is a figure.
func unmeasured(row *v1alpha1.ResultRow) bool {
	return row.Frames != nil && !method.IsThroughput(row) && row.Frames.Sent == 0 && row.Frames.LineRatePPM == 0 && row.Message != ""
}

// showsIntended reports whether the intended load of a row belongs next to what left the tester,
// which is another one. In a table without such a row the two are the same, and where loads
// are asked for, the table has them.
func showsIntended(row v1alpha1.ResultRow) bool {
	return !unmeasured(&row) && trials.OfferedOther(&row)
}

// lostCell returns the number of lost frames. It is "-" if groups are joined or left during
// the trial, because the number of expected frames is not known then.
func lostCell(row *v1alpha1.ResultRow) string {
	if row.Frames == nil || unmeasured(row) || row.GroupDelay != nil {
		return "-"
	}
	return layout.Group(row.Frames.Lost)
}

// cell writes the number of a method's own column.
func cell(c trials.Column, row *v1alpha1.ResultRow) string {
	n, ok := c.Value(row)
	if !ok {
		return "-"
	}
	return inUnit(c.Unit)(n)
}

// inUnit returns the function that formats numbers of a unit.
func inUnit(unit trials.Unit) func(int64) string {
	switch unit {
	case trials.PPM:
		return func(n int64) string { return layout.Fixed(n, 10_000, 4) }
	case trials.Nanoseconds:
		return layout.Micros
	case trials.YesNo:
		return func(n int64) string { return map[int64]string{0: "no", 1: "yes"}[n] }
	case trials.LongNanoseconds:
		return func(n int64) string { return layout.Fixed(n, 1_000_000, 3) }
	}
	return layout.Group
}
