package result

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
)

// telling is the row that says most of a test at one frame size: that of the lowest
// loss ratio, without loss where the method asks for it, and at the highest load.
func telling(rows []*v1alpha1.ResultRow) *v1alpha1.ResultRow {
	best := rows[0]
	for _, row := range rows[1:] {
		if before(best, row) {
			best = row
		}
	}
	return best
}

// before reports whether a row says more than another one of its test and size.
func before(known, row *v1alpha1.ResultRow) bool {
	if row.LossRatioPPM != known.LossRatioPPM {
		return row.LossRatioPPM < known.LossRatioPPM
	}
	a, b := known.Frames.OrZero(), row.Frames.OrZero()
	if d, _ := method.Describe(row.Method); d.Lossless && (a.Lost > 0) != (b.Lost > 0) {
		return a.Lost > 0
	}
	return b.LineRatePPM > a.LineRatePPM
}

// figureOf is the most telling number of a row.
func figureOf(row *v1alpha1.ResultRow) figure {
	f, ok := method.FigureOf(row)
	if !ok {
		return figure{text: "not measured"}
	}
	return figure{number: f.Number, text: f.Text, ordered: true}
}
