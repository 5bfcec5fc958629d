package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/result"
	"nodrop.dev/nodrop/internal/runner"
	"nodrop.dev/nodrop/internal/search"
)

// earlier are the hints that benchmarks of the same namespace give, as the cache
// knows them.
func (r *benchmarkReconciler) earlier(ctx context.Context, s *scope, profile *v1alpha1.TrafficProfile) ([]runner.Hint, error) {
	var others v1alpha1.BenchmarkList
	if err := r.List(ctx, &others, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("looking for earlier benchmarks: %w", err)
	}
	var profiles v1alpha1.TrafficProfileList
	if err := r.List(ctx, &profiles, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("looking for their traffic profiles: %w", err)
	}
	return hints(s.Benchmark, s.bed, profile, others.Items, profiles.Items), nil
}

// hints are what benchmarks of the same namespace that passed on a bed with
// traffic of the same shape say about the device: where the search Informed
// begins. Of every frame size the newest result in the variant in hand is taken.
// They need not hold any more, and change no result.
func hints(now *v1alpha1.Benchmark, bed *v1alpha1.TestBed, profile *v1alpha1.TrafficProfile, others []v1alpha1.Benchmark, profiles []v1alpha1.TrafficProfile) []runner.Hint {
	ports, errs := plan.Ports(bed)
	if len(errs) > 0 || len(ports) == 0 {
		return nil
	}
	alike := map[string]bool{profile.Name: true}
	for i := range profiles {
		alike[profiles[i].Name] = alike[profiles[i].Name] || sameShape(&profiles[i], profile)
	}
	before := slices.DeleteFunc(slices.Clone(others), func(o v1alpha1.Benchmark) bool {
		return o.UID == now.UID || o.Namespace != now.Namespace || o.Status.TestBedName != bed.Name ||
			!alike[o.Spec.TrafficProfileName] || o.Status.Phase != v1alpha1.PhasePassed || o.Status.CompletionTime == nil
	})
	slices.SortStableFunc(before, func(a, b v1alpha1.Benchmark) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.Name, b.Name))
	})
	var found []runner.Hint
	known := map[int32]string{}
	for _, o := range before {
		for _, row := range o.Status.Rows {
			// Others were limited by something else than the device, were of another
			// variant of it, or of a mix, which has no one size.
			if row.Variant != now.Status.Variant || row.FrameMix != "" || row.Method != v1alpha1.MethodThroughput ||
				!result.Trusted(row.Validity) || row.Search == nil || row.Search.UpperBoundPPM == 0 || row.Search.Capped {
				continue
			}
			if by, ok := known[row.FrameSize]; ok && by != o.Name {
				continue
			}
			h, ok := search.Found(ports[0].BitsPerSecond, int(row.FrameSize), row.Frames.OrZero().LineRatePPM, v1alpha1.PPM, "")
			if !ok {
				continue
			}
			known[row.FrameSize] = o.Name
			found = append(found, runner.Hint{
				FramesPerSecond: frame.Round(h.FramesPerSecond), BitsPerSecond: frame.Round(h.BitsPerSecond),
				Source: "benchmark " + o.Name,
			})
		}
	}
	return found
}

// sameShape says that two profiles differ in nothing but their frame sizes.
func sameShape(a, b *v1alpha1.TrafficProfile) bool {
	one, other := a.Spec.DeepCopy(), b.Spec.DeepCopy()
	one.FrameSizes, other.FrameSizes = nil, nil
	return equality.Semantic.DeepEqual(one, other)
}
