package repeated

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/traffic"
)

// Merge returns one row for all repetitions of each row, at the place of the first one. Rows
// without a repetition stay as they are, and repetitions that are still missing are not waited
// for.
func Merge(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow {
	if !slices.ContainsFunc(rows, func(r v1alpha1.ResultRow) bool { return r.Repetition > 0 }) {
		return rows
	}
	var order []v1alpha1.RowID
	byID := map[v1alpha1.RowID][]*v1alpha1.ResultRow{}
	for i := range rows {
		id := rows[i].Summarized()
		if byID[id] == nil {
			order = append(order, id)
		}
		byID[id] = append(byID[id], &rows[i])
	}
	merged := make([]v1alpha1.ResultRow, len(order))
	for i, id := range order {
		merged[i] = merge(byID[id])
	}
	return merged
}

// Single returns the rows that are one repetition of several.
func Single(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow {
	var all []v1alpha1.ResultRow
	for _, row := range rows {
		if row.Repetition > 0 {
			all = append(all, row)
		}
	}
	return all
}

// merge makes one row of the repetitions of one.
func merge(all []*v1alpha1.ResultRow) v1alpha1.ResultRow {
	if all[0].Repetition == 0 {
		return *all[0]
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *v1alpha1.ResultRow) int { return cmp.Compare(a.Repetition, b.Repetition) })
	middle := median(all)
	row := *middle.DeepCopy()
	row.Repetition = 0
	if len(all) > 1 {
		row.Repeated = &v1alpha1.RepeatedSummary{Repetitions: int32(len(all)), Median: middle.Repetition, Figures: figures(all)}
	}
	row.Trials, row.ElapsedMilliseconds = 0, 0
	for _, one := range all {
		row.Trials += one.Trials
		row.ElapsedMilliseconds += one.ElapsedMilliseconds
	}
	row.Validity, row.ValidityReasons = judge(all)
	return row
}

// median is the repetition whose main figure is in the middle, the lower one of two. Where not
// all have one, it is the middle of those that do.
func median(all []*v1alpha1.ResultRow) *v1alpha1.ResultRow {
	type numbered struct {
		row    *v1alpha1.ResultRow
		number int64
	}
	var have []numbered
	for _, row := range all {
		if n, ok := mainFigure(row); ok {
			have = append(have, numbered{row, n})
		}
	}
	if len(have) == 0 {
		return all[0]
	}
	slices.SortStableFunc(have, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	return have[(len(have)-1)/2].row
}

// mainFigure is the number by which repetitions are put into an order: the load that was found,
// the mean latency of a latency test, or the headline of the method.
func mainFigure(row *v1alpha1.ResultRow) (int64, bool) {
	if method.IsSearched(row.Method) {
		return trials.Offered(row).FramesPerSecond, row.Frames != nil
	}
	if f, ok := method.FigureOf(row); ok {
		return f.Number, true
	}
	return 0, false
}

// figures are the intervals of all metrics that repetitions have.
func figures(all []*v1alpha1.ResultRow) []v1alpha1.FigureInterval {
	d, _ := method.Describe(all[0].Method)
	var found []v1alpha1.FigureInterval
	for _, metric := range gate.Metrics(d) {
		var values []bounded
		for _, row := range all {
			if value, why := metric.Value(row); why == "" {
				values = append(values, boundsOf(metric, row, value))
			}
		}
		if len(values) == 0 {
			continue
		}
		f := interval(values)
		f.Metric, f.Unit = metric.Name, metric.Unit.String()
		found = append(found, f)
	}
	return found
}

// boundsOf returns what one measurement shows of a value: the load of a search is at most its
// upper bound, a percentile lies in a bucket of the histogram, and a time that was read at
// intervals is as exact as they are.
func boundsOf(metric gate.Metric, row *v1alpha1.ResultRow, value int64) bounded {
	b := exactly(value)
	switch {
	case metric.Resolution != nil:
		off := metric.Resolution(row)
		b.low, b.high = max(0, value-off), value+off
	case metric.Name == string(compare.Throughput) || metric.Name == gate.LineRate:
		b.high = max(value, upperBound(row, metric.Name == gate.LineRate))
	case strings.HasPrefix(metric.Name, gate.PercentilePrefix):
		if row.Latency != nil && value > row.Latency.MinNs {
			low, _ := traffic.BucketBounds(traffic.BucketIndex(uint64(value)))
			b.low = max(row.Latency.MinNs, int64(low))
		}
	}
	return b
}

// upperBound is the lowest load that failed, as a share of line rate in parts per million or in
// frames/s; 0 if none did.
func upperBound(row *v1alpha1.ResultRow, share bool) int64 {
	frames := row.Frames.OrZero()
	if row.Search == nil {
		return 0
	}
	if share {
		return row.Search.UpperBoundPPM
	}
	if frames.LineRatePPM == 0 {
		return 0
	}
	return int64(float64(frames.FramesPerSecond) * float64(row.Search.UpperBoundPPM) / float64(frames.LineRatePPM))
}

// judge returns the validity of the row: the worst of all repetitions, since leaving those
// out would choose among the values. Reasons name the repetitions that have them.
func judge(all []*v1alpha1.ResultRow) (v1alpha1.Validity, []string) {
	worst := all[0].Validity
	var reasons []string
	of := map[string][]string{}
	for _, row := range all {
		if result.Graver(row.Validity, worst) {
			worst = row.Validity
		}
		for _, r := range row.ValidityReasons {
			if of[r] == nil {
				reasons = append(reasons, r)
			}
			of[r] = append(of[r], fmt.Sprint(row.Repetition))
		}
	}
	for i, r := range reasons {
		switch n := of[r]; {
		case len(n) == len(all):
		case len(n) == 1:
			reasons[i] = fmt.Sprintf("repetition %s: %s", n[0], r)
		default:
			reasons[i] = fmt.Sprintf("repetitions %s: %s", strings.Join(n, ", "), r)
		}
	}
	return worst, reasons
}
