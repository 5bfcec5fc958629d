package verify

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// repeated verifies a row that summarizes repetitions: its figures are of the repetition that is
// the median, and medians and intervals follow from all of them.
func (v *Verdict) repeated(d *report.Document, row *v1alpha1.ResultRow) {
	c := &check{doc: d, row: row, out: v, done: map[string]bool{}}
	c.paths, c.values = figures(row)
	var all []*v1alpha1.ResultRow
	for i := range d.Repetitions {
		if d.Repetitions[i].Summarized() == row.RowID {
			all = append(all, &d.Repetitions[i])
		}
	}
	c.is("repeated.repetitions", int64(len(all)))
	i := slices.IndexFunc(all, func(r *v1alpha1.ResultRow) bool { return r.Repetition == row.Repeated.Median })
	if i < 0 {
		c.mismatch("repeated.median", fmt.Sprint(row.Repeated.Median), "one of the repetitions")
		return
	}
	c.agrees("repeated.median", true, "")
	_, middle := figures(all[i])
	var trials, elapsed int64
	for _, r := range all {
		trials, elapsed = trials+int64(r.Trials), elapsed+r.ElapsedMilliseconds
	}
	c.is("trials", trials)
	c.is("elapsedMilliseconds", elapsed)
	for _, path := range c.paths {
		if !c.done[path] && !strings.HasPrefix(path, "repeated.") {
			c.is(path, middle[path])
		}
	}
	c.intervals(all)
}

// intervals verifies medians and confidence intervals.
func (c *check) intervals(all []*v1alpha1.ResultRow) {
	definition, _ := method.Describe(c.row.Method)
	metrics := gate.Metrics(definition)
	for i, f := range c.row.Repeated.Figures {
		at := fmt.Sprintf("repeated.figures[%d].", i)
		k := slices.IndexFunc(metrics, func(m gate.Metric) bool { return m.Name == f.Metric })
		if k < 0 || len(f.Values) == 0 {
			c.mismatch(at+"metric", f.Metric, "a metric of the method")
			continue
		}
		n := 0
		for _, row := range all {
			if _, why := metrics[k].Value(row); why == "" {
				c.is(fmt.Sprintf("%svalues[%d]", at, n), gateValue(row, metrics[k]))
				n++
			}
		}
		sorted := slices.Sorted(slices.Values(f.Values))
		c.is(at+"median", sorted[(len(sorted)-1)/2])
		rank, confidence := signTest(len(sorted))
		c.is(at+"confidencePPM", confidence)
		low, high := sorted[rank-1], sorted[len(sorted)-rank]
		// Bounds of a search and of buckets widen the interval.
		switch {
		case f.Metric == "Throughput" || f.Metric == "LineRate":
			c.is(at+"low", low)
			c.agrees(at+"high", f.High >= high, fmt.Sprintf("at least %d", high))
		case strings.HasPrefix(f.Metric, "LatencyP"):
			c.agrees(at+"low", f.Low <= low, fmt.Sprintf("at most %d", low))
			c.is(at+"high", high)
		default:
			c.is(at+"low", low)
			c.is(at+"high", high)
		}
	}
}

// signTest returns how many of n values in their order are outside of the interval at each end, plus
// one, and the confidence of the interval in parts per million.
func signTest(n int) (rank int, ppm int64) {
	inside := func(rank int) int64 {
		outside := new(big.Int)
		for i := range rank {
			outside.Add(outside, new(big.Int).Binomial(int64(n), int64(i)))
		}
		all := new(big.Int).Lsh(big.NewInt(1), uint(n))
		share := new(big.Rat).SetFrac(outside.Lsh(outside, 1), all)
		share.Sub(big.NewRat(1, 1), share)
		if share.Sign() < 0 {
			return 0
		}
		return down(times(share, ratio(million, 1)))
	}
	rank = 1
	for 2*rank < n && inside(rank+1) >= 950_000 {
		rank++
	}
	return rank, inside(rank)
}
