package controllers

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/runner"
	"nodrop.dev/nodrop/internal/search"
)

// hints are what the latest benchmark of the same namespace that passed on a bed
// with the same traffic, and in the variant of the device that is in hand, says
// about the device: where the search Informed begins. They need not hold any
// more, and change no result.
func hints(now *v1alpha1.Benchmark, bed *v1alpha1.TestBed, others []v1alpha1.Benchmark) []runner.Hint {
	var latest *v1alpha1.Benchmark
	for i := range others {
		o := &others[i]
		if o.UID == now.UID || o.Namespace != now.Namespace || o.Status.TestBedName != bed.Name ||
			o.Spec.TrafficProfileName != now.Spec.TrafficProfileName ||
			!slices.Contains(o.Spec.VariantsInOrder(), now.Status.Variant) ||
			o.Status.Phase != v1alpha1.PhasePassed || o.Status.CompletionTime == nil {
			continue
		}
		if latest == nil || latest.Status.CompletionTime.Before(o.Status.CompletionTime) {
			latest = o
		}
	}
	ports, errs := plan.Ports(bed)
	if latest == nil || len(errs) > 0 || len(ports) == 0 {
		return nil
	}
	var found []runner.Hint
	for _, row := range latest.Status.Rows {
		// Others were limited by something else than the device, and a mix has no one
		// size.
		if row.Variant != now.Status.Variant || row.FrameMix != "" || row.Method != v1alpha1.MethodThroughput || row.Validity == v1alpha1.ValidityGeneratorBound || row.Search == nil || row.Search.UpperBoundPPM == 0 || row.Search.Capped {
			continue
		}
		if h, ok := search.Found(ports[0].BitsPerSecond, int(row.FrameSize), row.LineRatePPM, v1alpha1.PPM, ""); ok {
			found = append(found, runner.Hint{
				FramesPerSecond: frame.Round(h.FramesPerSecond), BitsPerSecond: frame.Round(h.BitsPerSecond),
				Source: "benchmark " + latest.Name,
			})
		}
	}
	return found
}
