package compare

import (
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
)

// Difference contains the differences between the device in one variant and the device in
// the first variant of a benchmark, in the same test at the same frame size and load.
type Difference struct {
	// RowID of the row that differs, with its variant.
	v1alpha1.RowID `json:",inline"`
	// baseline is the first variant of the benchmark, which all others are compared
	// with.
	Baseline v1alpha1.VariantName `json:"baseline"`
	// deltas are the differences of throughput, latency and jitter.
	Deltas Deltas `json:"deltas"`
	// figures are the differences of the method's own columns.
	Figures []FigureDifference `json:"figures,omitempty"`
	// notes explain why a difference is absent, and contain the loads at which latencies
	// were measured if these differ.
	Notes []string `json:"notes,omitempty"`
}

// Deltas are the values of a variant minus those of the first one. What is not known
// is absent.
type Deltas struct {
	// framesPerSecond is the difference of the load found, in frames/s; only of a
	// test that searches one.
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`
	// framesPerSecondPPM is the same in parts per million of the first variant's,
	// rounded half away from zero. Absent also when that is 0.
	FramesPerSecondPPM *int64 `json:"framesPerSecondPPM,omitempty"`
	// latencyMinNs is the difference of the lowest latencies in nanoseconds.
	LatencyMinNs *int64 `json:"latencyMinNs,omitempty"`
	// latencyAvgNs is the difference of the mean latencies.
	LatencyAvgNs *int64 `json:"latencyAvgNs,omitempty"`
	// latencyMaxNs is the difference of the highest latencies. It may be negative
	// where that of the mean is not.
	LatencyMaxNs *int64 `json:"latencyMaxNs,omitempty"`
	// jitterAvgNs is the difference of the mean jitters.
	JitterAvgNs *int64 `json:"jitterAvgNs,omitempty"`
	// jitterMaxNs is the difference of the highest jitters.
	JitterMaxNs *int64 `json:"jitterMaxNs,omitempty"`
}

// FigureDifference is the difference of a number that only one method measures.
type FigureDifference struct {
	// name of the number, as the heading of its column: "burst avg".
	Name string `json:"name"`
	// unit is ppm, ns, or what is counted; absent when the name says it.
	Unit string `json:"unit,omitempty"`
	// difference from the first variant; absent when one of the two has no number.
	Difference *int64 `json:"difference,omitempty"`
}

// Differences returns how the rows of a benchmark in each later variant differ from
// those in the first, in the order of the variants and of the tests. A variant
// without any row is left out.
func Differences(variants []v1alpha1.VariantName, rows []v1alpha1.ResultRow) []Difference {
	if len(variants) < 2 {
		return nil
	}
	of := func(name v1alpha1.VariantName) Result {
		r := Result{Subject: Subject{Name: string(name)}}
		for _, row := range rows {
			if row.Variant == name {
				row.Variant = "" // What belongs together has the same identity.
				r.Rows = append(r.Rows, row)
			}
		}
		return r
	}
	baseline := of(variants[0])
	var all []Difference
	for _, name := range variants[1:] {
		other := of(name)
		if len(baseline.Rows) == 0 || len(other.Rows) == 0 {
			continue
		}
		for _, id := range idsOf([]Result{baseline, other}) {
			d := difference(id, baseline, other)
			d.Variant, d.Baseline = name, variants[0]
			if len(d.Figures) > 0 || d.Deltas != (Deltas{}) || len(d.Notes) > 0 {
				all = append(all, d)
			}
		}
	}
	return all
}

// difference compares the rows of one identity.
func difference(id v1alpha1.RowID, baseline, other Result) Difference {
	d := Difference{RowID: id}
	results := []Result{baseline, other}
	rows := rowsOf(id, results)
	delta := func(metric Metric) (n, ppm *int64) {
		cells := []Cell{cell(rows[0], metric), cell(rows[1], metric)}
		differ(&cells[1], cells[0])
		for i, c := range cells {
			if note := results[i].Subject.Name + ": " + c.Reason; c.Status != Ranked && !slices.Contains(d.Notes, note) {
				d.Notes = append(d.Notes, note)
			}
		}
		if cells[1].Difference != nil {
			d.insignificant(string(metric), rows)
		}
		if metric == LatencyAvg {
			if note := conditions(metric, results, cells, rows); note != "" {
				d.Notes = append(d.Notes, note)
			}
		}
		return cells[1].Difference, cells[1].DifferencePPM
	}
	d.Figures = figures(id.Method, rows)
	own, _ := method.Describe(id.Method)
	for i, c := range own.Columns {
		if d.Figures[i].Difference != nil {
			d.insignificant(c.MetricName(), rows)
		}
	}
	if !slices.ContainsFunc(rows, func(row *v1alpha1.ResultRow) bool { return row != nil && row.Frames != nil }) {
		return d // Tests that send no test frames have figures of their own only.
	}
	if method.IsSearched(id.Method) {
		d.Deltas.FramesPerSecond, d.Deltas.FramesPerSecondPPM = delta(Throughput)
	}
	d.Deltas.LatencyMinNs, _ = delta(LatencyMin)
	d.Deltas.LatencyAvgNs, _ = delta(LatencyAvg)
	d.Deltas.LatencyMaxNs, _ = delta(LatencyMax)
	d.Deltas.JitterAvgNs, _ = delta(JitterAvg)
	d.Deltas.JitterMaxNs, _ = delta(JitterMax)
	return d
}

// insignificant notes that a difference is one that chance makes, if both rows were repeated.
func (d *Difference) insignificant(metric string, rows []*v1alpha1.ResultRow) {
	if text := significanceOf(rows[0], rows[1], metric).Text(); text != "" {
		d.Notes = append(d.Notes, metric+": "+text)
	}
}

// figures are the differences of a method's own columns.
func figures(name v1alpha1.Method, rows []*v1alpha1.ResultRow) []FigureDifference {
	own, _ := method.Describe(name)
	var all []FigureDifference
	for _, c := range own.Columns {
		f := FigureDifference{Name: c.FullName(), Unit: unitOf(c)}
		cells := make([]Cell, len(rows))
		for i, row := range rows {
			if row == nil || !result.Trusted(row.Validity) {
				continue
			}
			if f := row.Repeated.Figure(c.MetricName()); f != nil {
				cells[i] = Cell{Status: Ranked, Value: &f.Median}
			} else if value, ok := c.Value(row); ok {
				cells[i] = Cell{Status: Ranked, Value: &value}
			}
		}
		differ(&cells[1], cells[0])
		f.Difference = cells[1].Difference
		all = append(all, f)
	}
	return all
}

// unitOf is the unit of a column's number; a count's is in the column's heading.
func unitOf(c trials.Column) string {
	switch c.Unit {
	case trials.PPM:
		return "ppm"
	case trials.Nanoseconds:
		return "ns"
	}
	_, unit, _ := strings.Cut(c.Heading, ", ")
	return unit
}
