package history

import (
	"encoding/json"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
)

// Inputs is the digest of what a run measures: tests, traffic and the tester's side of the
// bed. Runs with the same one form a history. The device is left out, since that it changes
// is what a history is looked at for. Profile and bed are nil where they are not known.
func Inputs(spec *v1alpha1.BenchmarkSpec, profile *v1alpha1.TrafficProfileSpec, bedName string, bed *v1alpha1.TestBedSpec) (string, error) {
	same := v1alpha1.BenchmarkSpec{Tests: spec.Tests, Variants: spec.Variants, DeviceParameters: spec.DeviceParameters, SettleTime: spec.SettleTime, RestTime: spec.RestTime}
	if profile != nil && len(profile.FrameSizes) == 0 {
		sizes := *profile
		sizes.FrameSizes = profile.Sizes() // with the default, which results have
		profile = &sizes
	}
	what := struct {
		Spec    v1alpha1.BenchmarkSpec
		Profile *v1alpha1.TrafficProfileSpec
		TestBed string
		Engine  *v1alpha1.Engine
		Ports   []v1alpha1.Port
		Routing *v1alpha1.BedRouting
	}{Spec: same, Profile: profile, TestBed: bedName}
	if bed != nil {
		what.Engine, what.Ports, what.Routing = &bed.Engine, bed.Ports, bed.Routing
	}
	text, err := json.Marshal(what)
	if err != nil {
		return "", fmt.Errorf("identifying what was measured: %w", err)
	}
	return canonical.Sum(text), nil
}
