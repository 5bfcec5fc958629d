package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// facts are the few figures that a reader looks for first.
func (d *Document) facts() []fact {
	if len(d.Rows) == 0 {
		return nil
	}
	var throughput []v1alpha1.ResultRow
	var number int64
	for _, row := range d.Rows {
		number += int64(row.Trials)
		if method.IsThroughput(&row) {
			throughput = append(throughput, row)
		}
	}
	var facts []fact
	all := len(throughput)
	throughput = slices.DeleteFunc(throughput, func(r v1alpha1.ResultRow) bool { return !result.Conclusive(d.device(), &r) })
	switch {
	case all == 0:
		facts = headlines(d.device(), d.byTest())
	case len(throughput) == 0:
		facts = append(facts, unknownFact("Throughput without loss", all))
	default:
		unit, doubt := layout.UnitFor(highestBitRate(d.Rows)), withoutDoubtful(all-len(throughput))
		facts = append(facts,
			fact{"Throughput without loss" + atReceivers(throughput), between(throughput, func(r v1alpha1.ResultRow) int64 { return trials.Offered(&r).BitsPerSecond }, func(r v1alpha1.ResultRow) string {
				return layout.Cut(trials.Offered(&r).BitsPerSecond, unit.Bits, 3, trials.Steps(&r).BitsPerSecond)
			}), unit.Name + doubt},
			shareOfFact(throughput, doubt))
		if !slices.ContainsFunc(throughput, func(r v1alpha1.ResultRow) bool { return r.Latency == nil }) {
			facts = append(facts, fact{"Average latency at that load", between(throughput, func(r v1alpha1.ResultRow) int64 { return r.Latency.AvgNs }, func(r v1alpha1.ResultRow) string { return layout.Micros(r.Latency.AvgNs) }), "µs" + doubt})
		}
	}
	judged := 0
	for _, row := range d.Rows {
		if result.Trusted(row.Validity) && !unmeasured(&row) {
			judged++
		}
	}
	return append(facts, fact{"Rows that can be judged by", fmt.Sprintf("%d of %d", judged, len(d.Rows)), "in " + layout.Quantity(number, "trial")})
}

// atReceivers returns an addition to the heading if the rates of the rows count a frame at
// each of its receivers.
func atReceivers(rows []v1alpha1.ResultRow) string {
	if loadHeading(rows) == receiversHeading {
		return ", to all receivers"
	}
	return ""
}

// shareOfFact is the range of the shares of line rate that ports offered in some rows.
func shareOfFact(rows []v1alpha1.ResultRow, doubt string) fact {
	f := fact{"Share of line rate", "", "%" + doubt}
	if ofFullLoad(rows) {
		f.Unit = "% by sender" + doubt
	}
	if !slices.ContainsFunc(rows, func(r v1alpha1.ResultRow) bool {
		low, high := trials.OfferedByPort(&r)
		return low != high
	}) {
		f.Value = between(rows, func(r v1alpha1.ResultRow) int64 { return trials.Offered(&r).LineRatePPM }, func(r v1alpha1.ResultRow) string { return shareCell(&r) })
		return f
	}
	lowest, highest := trials.OfferedByPort(&rows[0])
	for _, row := range rows {
		low, high := trials.OfferedByPort(&row)
		lowest, highest = min(lowest, low), max(highest, high)
	}
	f.Value = strings.Replace(rangeOf(lowest, highest), "-", " – ", 1)
	return f
}

// between is the range of a value over some rows, each end as its row is printed.
func between(rows []v1alpha1.ResultRow, value func(v1alpha1.ResultRow) int64, text func(v1alpha1.ResultRow) string) string {
	by := func(a, b v1alpha1.ResultRow) int { return cmp.Compare(value(a), value(b)) }
	low, high := slices.MinFunc(rows, by), slices.MaxFunc(rows, by)
	if value(low) == value(high) {
		return text(low)
	}
	return text(low) + " – " + text(high)
}

// maxHeadlines is the maximum number of tests whose figures stand at the top of a report.
const maxHeadlines = 4

// headlines returns a fact for each of the first tests: the most telling figures of its rows, from
// the lowest to the highest.
func headlines(device v1alpha1.Device, tests []testResults) []fact {
	var facts []fact
	for _, t := range tests {
		if len(facts) == maxHeadlines {
			break
		}
		facts = append(facts, headline(device, t.rows))
	}
	return facts
}

// headline returns the fact of the rows of a test.
func headline(device v1alpha1.Device, rows []v1alpha1.ResultRow) fact {
	title := sentence(testName(rows[0].Test, rows[0].Variant))
	var figures []trials.Figure
	for _, row := range rows {
		if !result.Conclusive(device, &row) {
			continue
		}
		if figure, ok := method.FigureOf(&row); ok {
			figures = append(figures, figure)
		}
	}
	if len(figures) == 0 {
		return unknownFact(title, len(rows))
	}
	byNumber := func(a, b trials.Figure) int { return cmp.Compare(a.Number, b.Number) }
	lowest, highest := slices.MinFunc(figures, byNumber), slices.MaxFunc(figures, byNumber)
	value := lowest.Text
	if highest.Number != lowest.Number {
		value += " – " + highest.Text
	}
	return fact{title, value, layout.Quantity(int64(len(figures)), "row") + withoutDoubtful(len(rows)-len(figures))}
}

// unknownFact returns the fact of so many rows that are all in doubt.
func unknownFact(title string, rows int) fact {
	return fact{title, "Not known", layout.Quantity(int64(rows), "row") + " in doubt"}
}

// withoutDoubtful returns how many rows were left out of a fact, as an addition to its unit; empty
// if none was.
func withoutDoubtful(rows int) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf(", without %s in doubt", layout.Quantity(int64(rows), "row"))
}
