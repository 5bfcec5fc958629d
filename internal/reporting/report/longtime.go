package report

import (
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// secondsFrom is the time in nanoseconds from which a quantity is printed in seconds.
const secondsFrom = 10_000_000_000

// longUnits contains the quantities of a table that are printed in seconds, by heading. Other long times are
// printed in milliseconds: each quantity has one unit in a table, which its largest value chooses.
type longUnits map[string]bool

// longUnitsOf chooses the units of columns from their values in some rows.
func longUnitsOf(columns []trials.Column, rows []v1alpha1.ResultRow) longUnits {
	inSeconds := longUnits{}
	for _, c := range columns {
		if c.Unit != trials.LongNanoseconds {
			continue
		}
		for i := range rows {
			if n, ok := c.Value(&rows[i]); ok && n >= secondsFrom {
				inSeconds[c.Heading] = true
			}
		}
	}
	return inSeconds
}

// heading returns the heading of a column with its unit.
func (u longUnits) heading(c trials.Column) string {
	if quantity, ok := strings.CutSuffix(c.Heading, ", ms"); ok && u[c.Heading] {
		return quantity + ", s"
	}
	return c.Heading
}

// cell writes the number of a column in the unit of its quantity.
func (u longUnits) cell(c trials.Column, row *v1alpha1.ResultRow) string {
	n, ok := c.Value(row)
	if c.Unit == trials.LongNanoseconds && ok && u[c.Heading] {
		return layout.Fixed(n, 1_000_000_000, 3)
	}
	return cell(c, row)
}
