package benchmarks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// maxEarlier is the maximum number of earlier results that are read for hints.
const maxEarlier = 8

// earlierHints returns the hints from benchmarks of the same namespace in the cache; none when no
// test uses the search Informed.
func earlierHints(ctx context.Context, cache, live client.Reader, s *kit.Scope, profile *v1alpha1.TrafficProfile) ([]runner.Hint, error) {
	if !slices.ContainsFunc(s.Spec.Tests, func(t v1alpha1.Test) bool {
		return t.Throughput != nil && t.Throughput.Search == v1alpha1.SearchInformed
	}) {
		return nil, nil
	}
	var others v1alpha1.BenchmarkList
	if err := cache.List(ctx, &others, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("listing earlier benchmarks: %w", err)
	}
	var profiles v1alpha1.TrafficProfileList
	if err := cache.List(ctx, &profiles, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("listing their traffic profiles: %w", err)
	}
	var before []earlierResult
	for _, b := range similar(s.Benchmark, s.Bed, profile, others.Items, profiles.Items) {
		result, err := stored.ReadFigures(ctx, live, b)
		if err != nil {
			return nil, err
		}
		before = append(before, earlierResult{b.Name, result.Rows})
	}
	return hints(s.Bed, s.Status.Variant, before), nil
}

// earlierResult contains the rows of an earlier benchmark.
type earlierResult struct {
	benchmark string
	rows      []v1alpha1.ResultRow
}

// similar are the benchmarks of the same namespace that were measured on the same bed with
// traffic of the same shape, the newest first and not more than maxEarlier.
func similar(now *v1alpha1.Benchmark, bed *v1alpha1.TestBed, profile *v1alpha1.TrafficProfile, others []v1alpha1.Benchmark, profiles []v1alpha1.TrafficProfile) []*v1alpha1.Benchmark {
	shaped := map[string]bool{profile.Name: true}
	for i := range profiles {
		shaped[profiles[i].Name] = shaped[profiles[i].Name] || sameShape(&profiles[i], profile)
	}
	var before []*v1alpha1.Benchmark
	for i := range others {
		if o := &others[i]; o.UID != now.UID && o.Namespace == now.Namespace && o.Status.TestBedName == bed.Name &&
			shaped[o.Spec.TrafficProfileName] && o.Status.Phase.Measured() && o.Status.CompletionTime != nil {
			before = append(before, o)
		}
	}
	slices.SortStableFunc(before, func(a, b *v1alpha1.Benchmark) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.Name, b.Name))
	})
	return before[:min(len(before), maxEarlier)]
}

// hints returns the loads at which the search Informed begins, from earlier results, the
// newest first. For every frame size the newest result in the current variant is used. Hints
// may be out of date; they do not change the result.
func hints(bed *v1alpha1.TestBed, variant v1alpha1.VariantName, before []earlierResult) []runner.Hint {
	ports, errs := plan.Ports(bed)
	if len(errs) > 0 || len(ports) == 0 {
		return nil
	}
	var found []runner.Hint
	known := map[int32]string{}
	for _, o := range before {
		for _, row := range o.rows {
			// Others were limited by something other than the device, were of another
			// variant, or of a mix, which has no single size.
			if row.Variant != variant || row.FrameMix != "" || row.Method != v1alpha1.MethodThroughput ||
				!result.Trusted(row.Validity) || row.Search == nil || row.Search.UpperBoundPPM == 0 || row.Search.Capped {
				continue
			}
			if by, ok := known[row.FrameSize]; ok && by != o.benchmark {
				continue
			}
			h, ok := search.Found(ports[0].BitsPerSecond, int(row.FrameSize), row.Frames.OrZero().LineRatePPM, v1alpha1.PPM, "")
			if !ok {
				continue
			}
			known[row.FrameSize] = o.benchmark
			found = append(found, runner.Hint{
				FramesPerSecond: frame.Round(h.FramesPerSecond), BitsPerSecond: frame.Round(h.BitsPerSecond),
				Source: "benchmark " + o.benchmark,
			})
		}
	}
	return found
}

// sameShape reports whether two profiles differ only in their frame sizes.
func sameShape(a, b *v1alpha1.TrafficProfile) bool {
	one, other := a.Spec.DeepCopy(), b.Spec.DeepCopy()
	one.FrameSizes, other.FrameSizes = nil, nil
	return equality.Semantic.DeepEqual(one, other)
}
