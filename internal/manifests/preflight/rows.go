package preflight

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

const (
	// maxRows is the maximum number of result rows of one benchmark, and maxRowBytes is the
	// maximum of their approximate size as JSON, in bytes.
	maxRows     = 20_000
	maxRowBytes = 64 << 20
)

// About how many bytes a row takes: without lists, with a series of rates, and with
// one line for every port or for every iteration of a search.
const (
	plainRow  = 1 << 10
	seriesRow = 12 << 10
	listRow   = 24 << 10
)

// flowBytes is about how many bytes a flow takes in a row.
const flowBytes = 256

// rowBytes is about how many bytes a row of a test takes.
func rowBytes(t v1alpha1.Test) int {
	switch {
	case t.Soak != nil && t.Soak.SamplingInterval != nil:
		return seriesRow
	case t.GroupJoinDelay != nil, t.GroupLeaveDelay != nil, t.AddressCaching != nil, t.AddressLearning != nil:
		return listRow
	}
	return plainRow
}

// testRows contains the number and the size of the rows of a test in all variants.
type testRows struct {
	name        string
	rows, bytes int
}

// rowsFit refuses tests that make more rows than the API may hold of one benchmark.
func rowsFit(in Input, a *Answer) field.ErrorList {
	sizes := max(1, len(a.Profile.Spec.Sizes())+len(a.Profile.Spec.FrameMixes)) // 1 where every flow has its own
	flows := flowBytes * len(a.Profile.Spec.Flows)
	variants := len(in.Benchmark.Spec.VariantsInOrder())
	var all []testRows
	rows, bytes := 0, 0
	for _, t := range in.Benchmark.Spec.Tests {
		n := plan.RowsPerSize(t) * sizes * variants
		all = append(all, testRows{t.Name, n, n * (rowBytes(t) + flows)})
		rows, bytes = rows+n, bytes+n*(rowBytes(t)+flows)
	}
	if rows <= maxRows && bytes <= maxRowBytes {
		return nil
	}
	slices.SortStableFunc(all, func(x, y testRows) int { return y.bytes - x.bytes })
	var largest []string
	for _, t := range all[:min(3, len(all))] {
		largest = append(largest, fmt.Sprintf("%s %d", t.name, t.rows))
	}
	each := ""
	if variants > 1 {
		each = fmt.Sprintf(" for each of %d variants", variants)
	}
	return problem(field.NewPath("spec", "tests"), len(in.Benchmark.Spec.Tests), fmt.Sprintf(
		"these tests make %d result rows of about %d MiB with the %d frame sizes and mixes of profile %s%s, and a benchmark holds at most %d rows and %d MiB (most are of: %s): "+
			"use fewer loads or frame sizes, or divide tests or variants among several benchmarks",
		rows, (bytes+1<<20-1)>>20, sizes, a.Profile.Name, each, maxRows, maxRowBytes>>20, strings.Join(largest, ", ")))
}
