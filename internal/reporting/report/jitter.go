package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
	"nodrop.dev/nodrop/internal/traffic"
)

// jitterTable is jitter by frame size and load, in the form in which test houses
// print it.
type jitterTable struct {
	title string
	grid  *layout.Grid
	// caption explains NA; empty when no cell has it.
	caption string
}

// jitterByLoad are the tables of the average and of the maximum jitter of a
// latency test. There are none when the rows are not of several loads, or jitter
// was not measured.
func (t testResults) jitterByLoad() []jitterTable {
	if own, _ := method.Describe(t.rows[0].Method); !own.Latency {
		return nil
	}
	var loads []v1alpha1.Load
	for _, row := range t.rows {
		if !slices.Contains(loads, row.Load) {
			loads = append(loads, row.Load)
		}
	}
	measured := func(row v1alpha1.ResultRow) bool { return row.Latency != nil && row.Latency.JitterAvgNs != nil }
	if len(loads) < 2 || !slices.ContainsFunc(t.rows, measured) {
		return nil
	}
	return []jitterTable{
		t.jitter("Average", loads, func(l *v1alpha1.LatencySummary) *int64 { return l.JitterAvgNs }),
		t.jitter("Maximum", loads, func(l *v1alpha1.LatencySummary) *int64 { return l.JitterMaxNs }),
	}
}

// jitter is the table of one figure of jitter.
func (t testResults) jitter(what string, loads []v1alpha1.Load, figure func(*v1alpha1.LatencySummary) *int64) jitterTable {
	table := jitterTable{title: what + " jitter by load", grid: &layout.Grid{Columns: []layout.Column{sizeColumn(t.profile)}}}
	for _, load := range loads {
		table.grid.Columns = append(table.grid.Columns, layout.Column{Heading: "at load, us", Name: string(load)})
	}
	at := map[string][]string{}
	for _, row := range t.rows {
		size := sizeCell(row.FrameSize, row.FrameMix)
		cells := at[size]
		if cells == nil {
			cells = slices.Repeat([]string{"-"}, len(loads)+1)
			cells[0] = size
			at[size] = cells
			table.grid.Rows = append(table.grid.Rows, cells)
		}
		i := 1 + slices.Index(loads, row.Load)
		switch {
		case row.Frames.OrZero().Lost > 0:
			cells[i] = "NA"
			table.caption = "NA: frames were lost at this load."
		case row.Latency != nil:
			cells[i] = jitterCell(figure(row.Latency))
		}
	}
	return table
}

// jitterCell writes jitter, and one that was not measured as a dash.
func jitterCell(ns *int64) string {
	if ns == nil {
		return "-"
	}
	return layout.Micros(*ns)
}

// percentileCell writes a percentile with the digits that its bucket of the histogram supports,
// rounded up: so many frames do not exceed it. The lowest and the highest latency are known exactly.
func percentileCell(lowest, highest, ns int64) string {
	if ns == lowest || ns == highest {
		return layout.Micros(ns)
	}
	step := bucketStep(ns)
	if up := (ns + step - 1) / step * step; up <= highest {
		return layout.Cut(up, 1000, 3, step)
	}
	return layout.Micros(ns)
}

// bucketStep is the largest power of ten that is at most half of the width of the bucket of a
// latency in nanoseconds, and at least 1.
func bucketStep(ns int64) int64 {
	low, high := traffic.BucketBounds(traffic.BucketIndex(uint64(ns)))
	step := int64(1)
	for 10*step <= int64(high-low+1)/2 {
		step *= 10
	}
	return step
}

// percentilesTitle is above the table of percentiles.
const percentilesTitle = "Percentiles of latency"

// percentiles are the percentiles of the latency of the rows in a table; nil where the
// engine counted no frames by their latency, or the method reports no latency.
func (t testResults) percentiles() *layout.Grid {
	rows := t.rows
	own, _ := method.Describe(rows[0].Method)
	counted := func(row v1alpha1.ResultRow) bool { return row.Latency != nil && row.Latency.P50Ns > 0 }
	if len(own.Columns) > 0 || !slices.ContainsFunc(rows, counted) {
		return nil
	}
	withLoad := slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Load != "" })
	withGoal := withPartialDrop(rows)
	g := &layout.Grid{Columns: []layout.Column{sizeColumn(t.profile)}}
	if withLoad {
		g.Columns = append(g.Columns, intendedColumn(rows))
	}
	if withGoal {
		g.Columns = append(g.Columns, layout.Column{Name: "goal", Left: true})
	}
	g.Keys = len(g.Columns)
	for _, name := range []string{"min", "p50", "p90", "p99", "p99.9", "max"} {
		g.Columns = append(g.Columns, layout.Column{Heading: t.latencyHeading(), Name: name})
	}
	for _, row := range rows {
		cells := []string{sizeCell(row.FrameSize, row.FrameMix)}
		if withLoad {
			cells = append(cells, string(row.Load))
		}
		if withGoal {
			cells = append(cells, goalName(row))
		}
		if l := row.Latency; counted(row) {
			percentile := func(ns int64) string { return percentileCell(l.MinNs, l.MaxNs, ns) }
			cells = append(cells, layout.Micros(l.MinNs), percentile(l.P50Ns), percentile(l.P90Ns), percentile(l.P99Ns), percentile(l.P999Ns), layout.Micros(l.MaxNs))
		} else {
			cells = append(cells, "-", "-", "-", "-", "-", "-")
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}
