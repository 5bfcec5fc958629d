package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// partsOfRow are the parts of which the traffic of a row was: the flows of the profile, or
// the traffic classes of its pattern; none where it was of one kind.
func partsOfRow(row v1alpha1.ResultRow) []v1alpha1.FlowSummary {
	if c := row.Classes; c != nil {
		return []v1alpha1.FlowSummary{{Name: "multicast", ClassSummary: c.Multicast}, {Name: "unicast", ClassSummary: c.Unicast}}
	}
	return row.Flows
}

// partsOf are the names of the parts of rows: those of the first row that has any.
func partsOf(rows []v1alpha1.ResultRow) []string {
	for _, row := range rows {
		if parts := partsOfRow(row); len(parts) > 0 {
			var names []string
			for _, p := range parts {
				names = append(names, p.Name)
			}
			return names
		}
	}
	return nil
}

// partColumns are what was sent of a part, the rate at which it was received, what was
// lost of it, and its average latency where it was measured.
func partColumns(name string, rows []v1alpha1.ResultRow) []column {
	columns := []column{{name, "sent", false}, {name, "frames/s", false}, {name, "lost", false}}
	timed := func(p v1alpha1.FlowSummary) bool { return p.Latency != nil }
	if slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return slices.ContainsFunc(row.Flows, timed) }) {
		columns = append(columns, column{name, "avg, us", false})
	}
	return columns
}

// partCells are the cells of part i of a row in so many columns.
func partCells(row v1alpha1.ResultRow, i, columns int) []string {
	parts := partsOfRow(row)
	if i >= len(parts) {
		return slices.Repeat([]string{"-"}, columns)
	}
	p := parts[i]
	cells := []string{group(p.Sent), group(p.ReceivedFramesPerSecond), group(p.Lost)}
	switch {
	case columns == len(cells):
	case p.Latency == nil:
		cells = append(cells, "-")
	default:
		cells = append(cells, micros(p.Latency.AvgNs))
	}
	return cells
}
