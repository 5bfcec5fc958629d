package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
)

// percentilesTitle is above the table of percentiles.
const percentilesTitle = "Percentiles of latency"

// percentilesOf are the percentiles of the latency of the rows in a table; nil where the
// engine counted no frames by their latency, or the method reports no latency.
func (d *Document) percentilesOf(rows []v1alpha1.ResultRow) *grid {
	own, _ := method.Describe(rows[0].Method)
	counted := func(row v1alpha1.ResultRow) bool { return row.Latency != nil && row.Latency.P50Ns > 0 }
	if len(own.Columns) > 0 || !slices.ContainsFunc(rows, counted) {
		return nil
	}
	withLoad := slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Load != "" })
	withGoal := withPartialDrop(rows)
	g := &grid{columns: []column{d.sizeColumn()}}
	if withLoad {
		g.columns = append(g.columns, intendedColumn(rows))
	}
	if withGoal {
		g.columns = append(g.columns, column{"", "goal", true})
	}
	for _, name := range []string{"min", "p50", "p90", "p99", "p99.9", "max"} {
		g.columns = append(g.columns, column{d.latencyHeading(), name, false})
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
			cells = append(cells, micros(l.MinNs), micros(l.P50Ns), micros(l.P90Ns), micros(l.P99Ns), micros(l.P999Ns), micros(l.MaxNs))
		} else {
			cells = append(cells, "-", "-", "-", "-", "-", "-")
		}
		g.rows = append(g.rows, cells)
	}
	return g
}
