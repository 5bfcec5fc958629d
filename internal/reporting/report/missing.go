package report

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// goneNote is the note about rows that were measured and are no more; empty if all are there.
func goneNote(s *v1alpha1.BenchmarkStatus, rows int) string {
	if s.Results == nil || int(s.Results.Rows) <= rows || !s.Phase.Finished() {
		return ""
	}
	return rowsGone(int(s.Results.Rows)-rows, int(s.Results.Rows))
}

func rowsGone(gone, all int) string {
	text := fmt.Sprintf("%d of %s of this result are gone", gone, layout.Quantity(int64(all), "row"))
	switch {
	case all == 1:
		text = "the only row of this result is gone"
	case gone == all:
		text = fmt.Sprintf("all %d rows of this result are gone", all)
	case gone == 1:
		text = fmt.Sprintf("1 of %d rows of this result is gone", all)
	}
	return text + ": their BenchmarkResult was deleted. The verdict is of the time when all rows were there; an archive may have them"
}

// judgedWithoutRows reports whether the benchmark ended with a verdict that its rows do not show any
// more.
func (d *Document) judgedWithoutRows() bool {
	switch d.Phase {
	case v1alpha1.PhasePassed, v1alpha1.PhaseMeasured, v1alpha1.PhaseFailed, v1alpha1.PhaseInconclusive:
		return len(d.Rows) == 0
	}
	return false
}

// rowsMissing is the note of a result with a verdict and without rows.
const rowsMissing = "the rows of this result are gone. The verdict is of the time when they were there; an archive may have them"

// gatesSection is the part of the gates in HTML; nil without gates. Gates cannot be judged without
// rows: the report does not show verdicts that contradict the benchmark's.
func (d *Document) gatesSection() *section {
	s := d.judged().section(d.simulated())
	if s == nil || !d.judgedWithoutRows() {
		return s
	}
	return &section{ID: s.ID, Title: "Gates", Purpose: fmt.Sprintf("%s asked for. The rows are gone, so the gates cannot be judged again; when they were judged, the benchmark ended %s.", quantityWas(len(d.Spec.Gates), "gate"), d.Phase)}
}

func quantityWas(n int, one string) string {
	if n == 1 {
		return "1 " + one + " was"
	}
	return layout.Quantity(int64(n), one) + " were"
}
