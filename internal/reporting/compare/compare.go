package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/result"
)

// Result is one side of a comparison.
type Result struct {
	Subject Subject
	Rows    []v1alpha1.ResultRow
	// ResolutionPPM returns the precision of the throughput of a row, in parts per million
	// of line rate: results that are closer than that tie. Without it throughput is exact.
	ResolutionPPM func(row *v1alpha1.ResultRow) int64
}

// Make compares results with the first of them. It fails on fewer than two
// results, and when two have the same name.
func Make(results []Result) (*Comparison, error) {
	if len(results) < 2 {
		return nil, errors.New("a comparison needs at least two results")
	}
	c := &Comparison{Schema: Schema, Lines: []Line{}, Scores: []Score{}}
	for _, r := range results {
		if slices.ContainsFunc(c.Results, func(s Subject) bool { return s.Name == r.Subject.Name }) {
			return nil, fmt.Errorf("two results are named %q", r.Subject.Name)
		}
		c.Results = append(c.Results, r.Subject)
	}
	ids := idsOf(results)
	for i, id := range ids {
		if i > 0 && together(ids[i-1], id) {
			continue
		}
		for _, metric := range metricsOf(&v1alpha1.ResultRow{RowID: id}) {
			var lines []Line
			for _, other := range ids {
				if together(other, id) {
					lines = append(lines, c.line(other, metric, results))
				}
			}
			if nobodyHas(lines) {
				continue
			}
			c.Lines = append(c.Lines, lines...)
			c.Scores = append(c.Scores, c.score(id, metric, lines))
		}
	}
	return c, nil
}

// together reports whether two rows are of one test in one variant of the device.
func together(a, b v1alpha1.RowID) bool { return a.Test == b.Test && a.Variant == b.Variant }

// idsOf are the identities of all rows: tests in the order in which they first occur,
// each variant for itself, and within a test in the order of the first result that
// has them, mixes after frame sizes.
func idsOf(results []Result) []v1alpha1.RowID {
	type testInVariant struct {
		test    string
		variant v1alpha1.VariantName
	}
	var tests []testInVariant
	byTest := map[testInVariant][]v1alpha1.RowID{}
	seen := map[v1alpha1.RowID]bool{}
	for _, r := range results {
		for i := range r.Rows {
			id := r.Rows[i].RowID
			t := testInVariant{id.Test, id.Variant}
			if byTest[t] == nil {
				tests = append(tests, t)
			}
			if !seen[id] {
				byTest[t] = append(byTest[t], id)
			}
			seen[id] = true
		}
	}
	var ids []v1alpha1.RowID
	for _, test := range tests {
		ofTest := byTest[test]
		slices.SortStableFunc(ofTest, func(a, b v1alpha1.RowID) int {
			return cmp.Compare(min(len(a.FrameMix), 1), min(len(b.FrameMix), 1))
		})
		ids = append(ids, ofTest...)
	}
	return ids
}

func nobodyHas(lines []Line) bool {
	for _, line := range lines {
		if slices.ContainsFunc(line.Cells, func(c Cell) bool { return c.Value != nil }) {
			return false
		}
	}
	return true
}

func (c *Comparison) line(id v1alpha1.RowID, metric Metric, results []Result) Line {
	l := Line{RowID: id, Metric: metric, Cells: make([]Cell, len(results))}
	rows := rowsOf(id, results)
	for i := range results {
		l.Cells[i] = cell(rows[i], metric)
	}
	within := tolerance(metric, results, rows)
	shift := func(a, b int) *Significance { return significanceOf(rows[a], rows[b], string(metric)) }
	rank(l.Cells, metric, func(a, b int) bool {
		if s := shift(a, b); s != nil {
			return !s.Significant
		}
		distance := *l.Cells[a].Value - *l.Cells[b].Value
		return max(distance, -distance) <= within
	})
	for i := range l.Cells[1:] {
		if differ(&l.Cells[i+1], l.Cells[0]); l.Cells[i+1].Difference != nil {
			l.Cells[i+1].Significance = shift(0, i+1)
		}
	}
	for i, cell := range l.Cells {
		if cell.Rank == 1 {
			l.Winners = append(l.Winners, c.Results[i].Name)
		}
	}
	if rankedCells(l.Cells) < 2 {
		l.Winners = nil
	}
	l.Note = conditions(metric, results, l.Cells, rows)
	return l
}

// rowsOf are the rows of an identity by result; nil where a result has none.
func rowsOf(id v1alpha1.RowID, results []Result) []*v1alpha1.ResultRow {
	rows := make([]*v1alpha1.ResultRow, len(results))
	for i, r := range results {
		if at := slices.IndexFunc(r.Rows, func(row v1alpha1.ResultRow) bool { return row.RowID == id }); at >= 0 {
			rows[i] = &r.Rows[at]
		}
	}
	return rows
}

// cell is a result without its rank.
func cell(row *v1alpha1.ResultRow, metric Metric) Cell {
	if row == nil {
		return Cell{Status: Missing, Reason: "no such row"}
	}
	value, why := valueOf(row, metric)
	switch {
	case why != "":
		return Cell{Status: NotMeasured, Reason: why}
	case !result.Trusted(row.Validity):
		return Cell{Status: NotValid, Value: &value, Reason: strings.Join(append([]string{string(row.Validity)}, row.ValidityReasons...), ": ")}
	case fullQueued(row, metric):
		return Cell{Status: Loss, Value: &value, Reason: fullQueue}
	}
	return Cell{Status: Ranked, Value: &value}
}

// conditions names what was not the same when ranked results were measured, for each of them: of latencies the load, which is the throughput of
// each device, and of goodput the congestion control of the senders, which is the default of the node's kernel if the test names none.
func conditions(metric Metric, results []Result, cells []Cell, rows []*v1alpha1.ResultRow) string {
	switch metric {
	case LatencyAvg, LatencyMax:
		return differences("measured at different loads: ", results, cells, func(i int) string {
			return "at " + string(v1alpha1.FormatPPM(rows[i].Frames.OrZero().LineRatePPM))
		})
	case Goodput:
		return differences("sent by different congestion control: ", results, cells, func(i int) string {
			if rows[i].Bulk == nil {
				return "by an unknown one"
			}
			return "by " + rows[i].Bulk.CongestionControl
		})
	default:
		return ""
	}
}

// differences names a condition of each ranked result of a line if it is not the same for all; else it is empty.
func differences(lead string, results []Result, cells []Cell, condition func(i int) string) string {
	var conditions, texts []string
	for i, cell := range cells {
		if cell.Status == Ranked {
			own := condition(i)
			conditions, texts = append(conditions, own), append(texts, results[i].Subject.Name+" "+own)
		}
	}
	if len(slices.Compact(conditions)) < 2 {
		return ""
	}
	return lead + strings.Join(texts, ", ")
}

// differ fills in the difference from the baseline.
func differ(c *Cell, baseline Cell) {
	if c.Status != Ranked || baseline.Status != Ranked {
		return
	}
	difference := *c.Value - *baseline.Value
	c.Difference = &difference
	if *baseline.Value != 0 {
		ppm := scaled(difference, v1alpha1.PPM, *baseline.Value)
		c.DifferencePPM = &ppm
	}
}

// scaled is n * factor / unit for a unit above 0, rounded half away from zero. It
// does not overflow on the way.
func scaled(n, factor, unit int64) int64 {
	twice := new(big.Int).Mul(big.NewInt(n), big.NewInt(2*factor))
	half := big.NewInt(unit)
	if n < 0 {
		half.Neg(half)
	}
	twice.Add(twice, half)
	return twice.Quo(twice, big.NewInt(2*unit)).Int64()
}
