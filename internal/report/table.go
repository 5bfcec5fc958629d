package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
)

const ratesHeading = "rate, all ports"

// tableOf is the table of a test, in the columns of published reports.
func tableOf(rows []v1alpha1.ResultRow, unit bitUnit) *grid {
	// Tests that send no test frames have neither sizes nor rates.
	withFrames := slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Frames != nil })
	g := &grid{}
	if withFrames {
		g.columns = append(g.columns, column{"frame", "bytes", false})
	}
	withLoad := slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Load != "" })
	withOffered := withFrames && slices.ContainsFunc(rows, showsOffered)
	own, _ := method.Describe(rows[0].Method)
	measuresItself := len(own.Columns) > 0
	if withLoad {
		g.columns = append(g.columns, column{"", "load", true})
	}
	withLoss := withPartialDrop(rows)
	if withLoss {
		g.columns = append(g.columns, column{"", "goal", true})
	}
	if withFrames {
		g.columns = append(g.columns,
			column{ratesHeading, "frames/s", false}, column{ratesHeading, unit.name, false},
			column{"line rate", "%", false})
	}
	if withOffered {
		g.columns = append(g.columns, column{"offered", "frames/s", false})
	}
	switch {
	case measuresItself:
		for _, c := range own.Columns {
			g.columns = append(g.columns, column{c.Heading, c.Name, false})
		}
	case withFrames:
		g.columns = append(g.columns,
			column{"latency, us", "min", false}, column{"latency, us", "avg", false}, column{"latency, us", "max", false},
			column{"jitter, us", "avg", false}, column{"jitter, us", "max", false})
	}
	withClasses := slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Classes != nil })
	if withClasses {
		for _, class := range []string{"multicast", "unicast"} {
			for _, name := range []string{"sent", "frames/s", "lost"} {
				g.columns = append(g.columns, column{class, name, false})
			}
		}
	}
	if withFrames {
		g.columns = append(g.columns, column{"frames", "lost", false})
	}
	g.columns = append(g.columns, column{"", "validity", true})
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
		switch {
		case !withFrames:
		case row.Frames == nil || unmeasured(&row):
			cells = append(cells, "-", "-", "-")
		default:
			cells = append(cells, group(row.Frames.FramesPerSecond), fixed(row.Frames.BitsPerSecond, unit.bits, 3), fixed(row.Frames.LineRatePPM, 10_000, 4))
		}
		if withOffered {
			cells = append(cells, offeredCell(&row))
		}
		switch l := row.Latency; {
		case measuresItself:
			for _, c := range own.Columns {
				cells = append(cells, cell(c, &row))
			}
		case l != nil && withFrames:
			cells = append(cells, micros(l.MinNs), micros(l.AvgNs), micros(l.MaxNs), jitterCell(l.JitterAvgNs), jitterCell(l.JitterMaxNs))
		case withFrames:
			cells = append(cells, "-", "-", "-", "-", "-")
		}
		if withClasses {
			cells = append(cells, classCells(row.Classes)...)
		}
		if withFrames {
			cells = append(cells, lostCell(&row))
		}
		g.rows = append(g.rows, append(cells, string(row.Validity)))
	}
	return g
}

// classCells are the frames that were sent of each traffic class, the rate at which it
// was received, and what was lost of it.
func classCells(c *v1alpha1.ClassesSummary) []string {
	if c == nil {
		return slices.Repeat([]string{"-"}, 6)
	}
	var cells []string
	for _, class := range []v1alpha1.ClassSummary{c.Multicast, c.Unicast} {
		cells = append(cells, group(class.Sent), group(class.ReceivedFramesPerSecond), group(class.Lost))
	}
	return cells
}

// unmeasured says that a row has no figures: nothing was sent for it, and its message
// says why. A throughput of 0 is a figure.
func unmeasured(row *v1alpha1.ResultRow) bool {
	return row.Frames != nil && !method.IsThroughput(row) && row.Frames.Sent == 0 && row.Frames.LineRatePPM == 0 && row.Message != ""
}

// showsOffered says that what left the tester belongs next to the load of a row: one that
// was asked for as a rate, or one that was offered with a difference of more than a
// thousandth. In a table without such a row the intended load is also the offered one.
func showsOffered(row v1alpha1.ResultRow) bool {
	f := row.Frames.OrZero()
	// Of frames with many receivers the two are not counted alike, and older results do
	// not say what was offered.
	if row.Load.IsRate() || f.OfferedFramesPerSecond == 0 || row.Multicast != nil || row.CongestionControl != nil {
		return row.Load.IsRate()
	}
	difference := f.FramesPerSecond - f.OfferedFramesPerSecond
	return max(difference, -difference) > f.FramesPerSecond/1000
}

// offeredCell is the rate that left the tester.
func offeredCell(row *v1alpha1.ResultRow) string {
	if row.Frames == nil || unmeasured(row) {
		return "-"
	}
	return group(row.Frames.OfferedFramesPerSecond)
}

// lostCell is how many frames were lost. Of groups that are joined or left during the
// trial it is not known how many frames were due.
func lostCell(row *v1alpha1.ResultRow) string {
	if row.Frames == nil || unmeasured(row) || row.GroupDelay != nil {
		return "-"
	}
	return group(row.Frames.Lost)
}

// cell writes the number of a method's own column.
func cell(c method.Column, row *v1alpha1.ResultRow) string {
	n, ok := c.Value(row)
	if !ok {
		return "-"
	}
	return inUnit(c.Unit)(n)
}

// inUnit says how numbers of a unit are written.
func inUnit(unit method.Unit) func(int64) string {
	switch unit {
	case method.PPM:
		return func(n int64) string { return fixed(n, 10_000, 4) }
	case method.Nanoseconds:
		return micros
	case method.YesNo:
		return func(n int64) string { return map[int64]string{0: "no", 1: "yes"}[n] }
	case method.LongNanoseconds:
		return func(n int64) string { return fixed(n, 1_000_000, 3) }
	}
	return group
}
