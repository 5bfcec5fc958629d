package report

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// power is the table of the power that the device took in the trials that decided rows, with the energy of a bit and the line through
// all loads of a frame size.
func (t testResults) power() *partsTable {
	const trial, bit, line = "power, W", "above idle, nJ/bit", "line through all loads so far"
	table := &partsTable{title: "Power", grid: &layout.Grid{Columns: []layout.Column{
		rowColumn, {Heading: "forwarded", Name: "Gbit/s"},
		{Heading: trial, Name: "mean"}, {Heading: trial, Name: "±"}, {Heading: trial, Name: "min"}, {Heading: trial, Name: "max"}, {Heading: trial, Name: "idle"},
		{Heading: bit, Name: "mean"}, {Heading: bit, Name: "±"},
		{Heading: line, Name: "base, W"}, {Heading: line, Name: "nJ/bit"}, {Heading: line, Name: "±"}, {Heading: line, Name: "farthest, W"},
	}}}
	for _, row := range t.rows {
		p := row.Power
		if p == nil {
			continue
		}
		cells := []string{labelsOf([]v1alpha1.ResultRow{row}, t.rows), layout.Fixed(p.BitsPerSecond, 1_000_000_000, 3), "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"}
		if r := p.Trial; r != nil {
			cells[2], cells[3], cells[4], cells[5] = reading(r.MeanMilliwatts), reading(r.AccuracyMilliwatts+r.ScatterMilliwatts), reading(r.MinimumMilliwatts), reading(r.MaximumMilliwatts)
		}
		if p.Idle != nil {
			cells[6] = reading(p.Idle.MeanMilliwatts)
		}
		if p.PicojoulesPerBit != nil {
			cells[7], cells[8] = nanojoules(*p.PicojoulesPerBit), nanojoules(p.PicojoulesPerBitAccuracy)
		}
		if f := p.Fit; f != nil {
			cells[9], cells[10], cells[11], cells[12] = reading(f.BaseMilliwatts), nanojoules(f.PicojoulesPerBit), nanojoules(f.PicojoulesPerBitAccuracy), reading(f.LargestResidualMilliwatts)
		}
		table.grid.Rows, table.rows = append(table.grid.Rows, cells), append(table.rows, row)
	}
	return table
}

// nanojoules writes picojoules with three decimals; differences within the accuracy may be negative.
func nanojoules(picojoules int64) string {
	if picojoules < 0 {
		return "-" + layout.Fixed(-picojoules, 1000, 3)
	}
	return layout.Fixed(picojoules, 1000, 3)
}
