package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// IncomparableError names the difference between results that cannot be compared.
type IncomparableError struct{ difference string }

func (e *IncomparableError) Error() string { return "the results are not comparable: " + e.difference }

// incomparable returns an error that names the difference between results of which no comparison
// makes sense: their ports differ, or they have no row in common.
func incomparable(documents []*Document, names []string) error {
	var measured []*Document
	var of []string
	for i, d := range documents {
		if len(d.Rows) > 0 {
			measured, of = append(measured, d), append(of, names[i])
		}
	}
	if len(measured) < 2 {
		return nil // The comparison notes that there is no row.
	}
	if differences := conditions(measured, of, portsAspect); len(differences) > 0 {
		return &IncomparableError{strings.Join(differences, "; ")}
	}
	in := map[v1alpha1.RowID]int{}
	for _, d := range measured {
		for i := range d.Rows {
			if in[d.Rows[i].RowID]++; in[d.Rows[i].RowID] > 1 {
				return nil
			}
		}
	}
	var tests []string
	for i, d := range measured {
		tests = append(tests, fmt.Sprintf("%s has %s", of[i], strings.Join(testNames(d), ", ")))
	}
	return &IncomparableError{fmt.Sprintf("they have no row of the same test, size and load (%s)", strings.Join(tests, "; "))}
}

// testNames are the tests of the rows with their variants and sizes.
func testNames(d *Document) []string {
	var names []string
	for _, t := range d.byTest() {
		name := "test " + t.name()
		if sizes := strings.TrimPrefix(sizesMeasured(t.rows), " and frames"); sizes != "" {
			name += sizes
		}
		names = append(names, name)
	}
	return names
}

// withoutWinners removes ranks and winners where not the same was measured, and notes why.
func withoutWinners(c *compare.Comparison, documents []*Document, names []string) {
	all := conditions(documents, names, kindAspect, framesAspect)
	latency := conditions(documents, names, latencyAspect)
	reason := func(test string, m compare.Metric) string {
		switch {
		case len(all) > 0:
			return all[0]
		case m != compare.Throughput && m != compare.FrameLoss && m != compare.Goodput && len(latency) > 0:
			return latency[0]
		case !sameTest(documents, test):
			return "the trials of the test differ"
		}
		return ""
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		why := reason(l.Test, l.Metric)
		if why == "" {
			continue
		}
		l.Winners = nil
		for j := range l.Cells {
			l.Cells[j].Rank, l.Cells[j].Tied = 0, false
		}
		l.Note = strings.TrimPrefix(l.Note+"; "+noWinner+why, "; ")
	}
	for i := range c.Scores {
		s := &c.Scores[i]
		if reason(s.Test, s.Metric) == "" {
			continue
		}
		s.LinesCounted, s.Winners = 0, nil
		for j := range s.Places {
			s.Places[j] = compare.Place{}
		}
	}
}

// sameTest reports whether all results that have a test ran it in the same way.
func sameTest(documents []*Document, name string) bool {
	var texts []string
	for _, d := range documents {
		test := d.Spec.Test(name)
		if test == nil || !slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Test == name }) {
			continue
		}
		text, err := json.Marshal([]any{test, d.Spec.SettleTime, d.Spec.Rest()})
		if err != nil {
			return false
		}
		texts = append(texts, string(text))
	}
	return len(slices.Compact(texts)) <= 1
}

// noWinner begins the part of a note that names why there is no winner.
const noWinner = "no winner: "

// tally counts the rows of a result by their rank, compared with the baseline's.
type tally struct {
	better, worse, equal, open int
	// most are the largest differences, in parts per million, and their rows.
	mostBetter, mostWorse   int64
	betterRow, worseRow     string
	knownBetter, knownWorse bool
}

// sentence describes a table in words: for each result how it compares with the baseline.
func (c *Comparison) sentence(lines comparedLines) string {
	if at := slices.IndexFunc(lines, func(l compare.Line) bool { return strings.Contains(l.Note, noWinner) }); at >= 0 {
		_, why, _ := strings.Cut(lines[at].Note, noWinner)
		return "There is no winner: " + why + "."
	}
	var texts []string
	for i := 1; i < len(c.Results); i++ {
		texts = append(texts, c.compared(lines, i))
	}
	return strings.Join(texts, " ")
}

func (c *Comparison) compared(lines comparedLines, i int) string {
	var t tally
	for _, l := range lines {
		t.add(l, i)
	}
	known := t.better + t.worse + t.equal
	if known == 0 {
		return fmt.Sprintf("%s cannot be compared with %s in any row.", c.Results[i].Name, c.Results[0].Name)
	}
	var parts []string
	part := func(n int, what string, most int64, isKnown bool, row string) {
		if n == 0 {
			return
		}
		text := fmt.Sprintf("%s in %d of %s", what, n, layout.Quantity(int64(known), "row"))
		if len(parts) > 0 {
			text = fmt.Sprintf("%s in %d", what, n)
		}
		if isKnown {
			text += fmt.Sprintf(" (by up to %s %% at %s)", strings.TrimLeft(percent(most), "+-"), row)
		}
		parts = append(parts, text)
	}
	part(t.better, "better", t.mostBetter, t.knownBetter, t.betterRow)
	part(t.worse, "worse", t.mostWorse, t.knownWorse, t.worseRow)
	part(t.equal, "not distinguishable", 0, false, "")
	text := fmt.Sprintf("%s compared with %s: %s", c.Results[i].Name, c.Results[0].Name, strings.Join(parts, ", "))
	if t.open > 0 {
		text += fmt.Sprintf("; %d more without a rank", t.open)
	}
	return text + "."
}

// add counts a line.
func (t *tally) add(l compare.Line, i int) {
	base, other := l.Cells[0], l.Cells[i]
	if base.Rank == 0 || other.Rank == 0 {
		t.open++
		return
	}
	size, known := int64(0), other.DifferencePPM != nil
	if known {
		size = max(*other.DifferencePPM, -*other.DifferencePPM)
	}
	switch {
	case other.Rank < base.Rank:
		t.better++
		if known && size >= t.mostBetter {
			t.mostBetter, t.betterRow, t.knownBetter = size, rowName(l.RowID), true
		}
	case other.Rank > base.Rank:
		t.worse++
		if known && size >= t.mostWorse {
			t.mostWorse, t.worseRow, t.knownWorse = size, rowName(l.RowID), true
		}
	default:
		t.equal++
	}
}
