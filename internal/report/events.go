package report

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/method/trials"
)

// eventsOf is the table of the events in the trials of rows; nil where the method has none.
func (d *Document) eventsOf(rows []v1alpha1.ResultRow) *partsTable {
	own, _ := method.Describe(rows[0].Method)
	if own.Events == nil {
		return nil
	}
	t := &partsTable{title: "Events", grid: &grid{columns: []column{{"", "event", true}, rowColumn, {"", "times", false}}}}
	kinds, columns := own.EventColumns()
	for _, c := range columns[kinds[0]] {
		if c.Unit == trials.LongNanoseconds {
			t.grid.columns = append(t.grid.columns, column{"took, ms", c.Name, false})
			continue
		}
		t.grid.columns = append(t.grid.columns, column{"", c.Heading, false})
	}
	for _, row := range rows {
		times, ok := own.Events(&row)
		if !ok {
			continue
		}
		for _, kind := range kinds {
			cells := []string{kind, labelsOf([]v1alpha1.ResultRow{row}, rows), group(times)}
			for _, c := range columns[kind] {
				cells = append(cells, cell(c, &row))
			}
			t.grid.rows = append(t.grid.rows, cells)
			t.rows = append(t.rows, row)
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return t
}

// furtherTablesOf are the tables of what each row has several of.
func (d *Document) furtherTablesOf(rows []v1alpha1.ResultRow) []*partsTable {
	var tables []*partsTable
	for _, t := range []*partsTable{d.partsOf(rows), d.eventsOf(rows)} {
		if t != nil {
			tables = append(tables, t)
		}
	}
	return tables
}
