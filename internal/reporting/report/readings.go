package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// readings is the table of what the device reported of itself while rows were measured: frames that it counted as dropped, and
// its sensors. JSON has all counters, reports the largest in the message of the row.
func (t testResults) readings() *partsTable {
	table := &partsTable{title: "Device", grid: &layout.Grid{Columns: []layout.Column{
		rowColumn, {Heading: "frames in all trials", Name: "lost"}, {Heading: "frames in all trials", Name: "counted by the device"},
		{Heading: "frames in all trials", Name: "unexplained"}, {Name: "sensor", Left: true}, {Heading: "reading", Name: "mean"}, {Heading: "reading", Name: "max"}, {Name: "unit", Left: true},
	}}}
	add := func(row v1alpha1.ResultRow, cells ...string) {
		table.grid.Rows, table.rows = append(table.grid.Rows, cells), append(table.rows, row)
	}
	for _, row := range t.rows {
		r := row.Readings
		if r == nil {
			continue
		}
		first := []string{labelsOf([]v1alpha1.ResultRow{row}, t.rows), layout.Group(r.Lost), "-", "-"}
		if r.Unexplained != nil {
			first[2], first[3] = layout.Group(r.Counted), layout.Group(*r.Unexplained)
		}
		if len(r.Sensors) == 0 {
			add(row, append(slices.Clip(first), "-", "-", "-", "-")...)
		}
		for i, s := range r.Sensors {
			if i > 0 {
				first = []string{"", "", "", ""}
			}
			add(row, append(slices.Clip(first), s.Name, reading(s.MeanThousandths), reading(s.MaximumThousandths), s.Unit)...)
		}
	}
	return table
}

// reading writes thousandths with one decimal; dBm are often negative.
func reading(thousandths int64) string {
	if thousandths < 0 {
		return "-" + layout.Fixed(-thousandths, 1000, 1)
	}
	return layout.Fixed(thousandths, 1000, 1)
}
