package stored

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
	"nodrop.dev/nodrop/internal/base/pages"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Result contains the stored result of a benchmark.
type Result struct {
	// Rows in the order of the benchmark's variants and tests, those of one test in
	// the order in which they were finished.
	Rows []v1alpha1.ResultRow
	// Environment describes the environment in which the rows were made; nil if nothing was
	// measured.
	Environment *v1alpha1.ResultEnvironment
	// Complete reports whether every part is complete, so that nothing will be added.
	Complete bool
	// Digest is the digest of the whole result; empty unless it is complete.
	Digest string
}

// NewPart is an empty part of a benchmark's result.
func NewPart(b *v1alpha1.Benchmark, part int32, test string, variant v1alpha1.VariantName) *v1alpha1.BenchmarkResult {
	r := &v1alpha1.BenchmarkResult{
		ObjectMeta: objectMeta(b, PartName(b, part)),
		Spec: v1alpha1.BenchmarkResultSpec{
			BenchmarkName: b.Name, BenchmarkUID: string(b.UID), Part: part, Test: test, Variant: variant,
		},
	}
	if test != "" {
		r.Labels[v1alpha1.LabelTest] = test
	}
	if variant != "" {
		r.Labels[v1alpha1.LabelVariant] = string(variant)
	}
	return r
}

// pageSize is the number of objects that are read at once: some MiB.
const pageSize = 50

// largeRows is the number of rows from which a result is large: a row has at most some 50 KiB.
const largeRows = 500

// IsLarge reports whether the result of a benchmark is so large that only one of its kind should be
// in memory.
func IsLarge(b *v1alpha1.Benchmark) bool {
	return b.Status.Results != nil && b.Status.Results.Rows >= largeRows
}

// Parts reads the parts of a benchmark's result in their order.
func Parts(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) ([]v1alpha1.BenchmarkResult, error) {
	return parts(ctx, reader, b, func(*v1alpha1.ResultRow) {})
}

// parts reads the parts of a result, and passes each row to a function that may remove a part of
// it before the next page is read.
func parts(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark, reduce func(*v1alpha1.ResultRow)) ([]v1alpha1.BenchmarkResult, error) {
	var all []v1alpha1.BenchmarkResult
	for p, err := range EachPart(ctx, reader, b) {
		if err != nil {
			return nil, err
		}
		for i := range p.Spec.Rows {
			reduce(&p.Spec.Rows[i])
		}
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b v1alpha1.BenchmarkResult) int { return cmp.Compare(a.Spec.Part, b.Spec.Part) })
	return all, nil
}

// EachPart reads the parts of a benchmark's result, in the order of their names, a page at a time. An error is the last
// element.
func EachPart(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) iter.Seq2[*v1alpha1.BenchmarkResult, error] {
	empty := func() *v1alpha1.BenchmarkResultList { return &v1alpha1.BenchmarkResultList{} }
	return func(yield func(*v1alpha1.BenchmarkResult, error) bool) {
		for page, err := range pages.All(ctx, reader, pageSize, empty, client.InNamespace(b.Namespace), client.MatchingLabels(Selector(b))) {
			if err != nil {
				yield(nil, fmt.Errorf("listing the results of benchmark %s: %w", b.Name, err))
				return
			}
			for _, p := range page.Items {
				// Labels can be changed; the field that names the owner cannot.
				if p.Spec.BenchmarkUID == string(b.UID) && !yield(&p, nil) {
					return
				}
			}
		}
	}
}

// Read reads a benchmark's result.
func Read(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) (Result, error) {
	parts, err := Parts(ctx, reader, b)
	if err != nil {
		return Result{}, err
	}
	return Join(b, parts), nil
}

// ReadFigures reads a benchmark's result without the logs of its trials, the series of rates and
// the captured frames, which are most of a large result and have no figure.
func ReadFigures(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) (Result, error) {
	all, err := parts(ctx, reader, b, report.RemoveLogs)
	if err != nil {
		return Result{}, err
	}
	return Join(b, all), nil
}

// Counts reports whether the rows of a part count. Rows do not count if a preempted benchmark
// could not resume from their run.
func Counts(b *v1alpha1.Benchmark, part *v1alpha1.BenchmarkResult) bool {
	return b.Status.Results == nil || part.Spec.Part > b.Status.Results.DiscardedParts
}

// Join is the result that is in parts.
func Join(b *v1alpha1.Benchmark, parts []v1alpha1.BenchmarkResult) Result {
	r := Result{Complete: len(parts) > 0}
	var digests []string
	for i := range parts {
		p := &parts[i]
		if Counts(b, p) {
			r.Rows = append(r.Rows, p.Spec.Rows...)
			if p.Spec.Environment != nil {
				r.Environment = p.Spec.Environment
			}
		}
		r.Complete = r.Complete && p.Spec.Complete
		digests = append(digests, p.Spec.Digest)
	}
	if r.Complete {
		r.Digest = Digest(digests)
	}
	sortRows(b, r.Rows)
	return r
}

// sortRows sorts rows by variant and test. They are sorted already, unless rows were
// measured again after a loss.
func sortRows(b *v1alpha1.Benchmark, rows []v1alpha1.ResultRow) {
	tests := map[string]int{}
	for i, t := range b.Spec.Tests {
		tests[t.Name] = i
	}
	slices.SortStableFunc(rows, func(x, y v1alpha1.ResultRow) int {
		return cmp.Or(
			cmp.Compare(slices.Index(b.Spec.Variants, x.Variant), slices.Index(b.Spec.Variants, y.Variant)),
			cmp.Compare(tests[x.Test], tests[y.Test]))
	})
}

// Content reads everything that the document of a benchmark's result is made of: its
// rows and environment, and the inputs as they were. What was not kept, since the
// benchmark did not get so far, is absent.
func Content(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) (report.Content, error) {
	result, err := Read(ctx, reader, b)
	if err != nil {
		return report.Content{}, err
	}
	return contentOf(ctx, reader, b, result)
}

// Figures reads the same as Content with the rows of ReadFigures, for gates and baselines. Metrics
// need whole rows: their points have the digest of the row.
func Figures(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) (report.Content, error) {
	result, err := ReadFigures(ctx, reader, b)
	if err != nil {
		return report.Content{}, err
	}
	return contentOf(ctx, reader, b, result)
}

// contentOf adds the inputs to a result.
func contentOf(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark, result Result) (report.Content, error) {
	in, err := ReadInputs(ctx, reader, b)
	if err != nil {
		return report.Content{}, err
	}
	return report.Content{
		Benchmark: b, Rows: result.Rows, Environment: result.Environment,
		Profile: in.Profile, Bed: in.Bed, ConfigMaps: in.ConfigMaps, Baselines: in.Baselines,
	}, nil
}

// PartDigest is the digest of a part: of its rows, or of its environment, as
// canonical JSON.
func PartDigest(spec *v1alpha1.BenchmarkResultSpec) (string, error) {
	var content any = spec.Rows
	if spec.Environment != nil {
		content = spec.Environment
	}
	return canonical.Digest(content)
}

// Digest is the digest of a whole result: of the digests of its parts in their
// order, each followed by a newline.
func Digest(parts []string) string {
	var all bytes.Buffer
	for _, digest := range parts {
		all.WriteString(digest + "\n")
	}
	return canonical.Sum(all.Bytes())
}
