package preflight

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestHostsFit refuses tests with TCP on beds that do not allow them, or whose ports are on several nodes.
func TestHostsFit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*v1alpha1.TestBed, *v1alpha1.Benchmark)
		want   string
	}{
		"allowed":     {func(*v1alpha1.TestBed, *v1alpha1.Benchmark) {}, ""},
		"not allowed": {func(bed *v1alpha1.TestBed, _ *v1alpha1.Benchmark) { bed.Spec.Hosts = nil }, "spec.tests[1].incast: Forbidden: test bed leaf allows no hosts with TCP on its ports"},
		"no such test": {func(bed *v1alpha1.TestBed, b *v1alpha1.Benchmark) {
			bed.Spec.Hosts, b.Spec.Tests = nil, b.Spec.Tests[:1]
		}, ""},
		"engine sim": {func(bed *v1alpha1.TestBed, _ *v1alpha1.Benchmark) {
			bed.Spec.Hosts, bed.Spec.Engine.Kind = nil, v1alpha1.EngineSim
		}, ""},
		"engine trex": {func(bed *v1alpha1.TestBed, _ *v1alpha1.Benchmark) {
			bed.Spec.Hosts, bed.Spec.Engine.Kind = nil, v1alpha1.EngineTRex
		}, ""},
		"on two nodes": {func(bed *v1alpha1.TestBed, _ *v1alpha1.Benchmark) { bed.Spec.Ports[1].Node = "b" }, "ports p1 and p2 of test bed leaf are on nodes a and b, and one traffic pod has all hosts"},
		"two, no hosts": {func(bed *v1alpha1.TestBed, b *v1alpha1.Benchmark) {
			bed.Spec.Ports[1].Node, b.Spec.Tests = "b", b.Spec.Tests[:1]
		}, ""},
	} {
		bed := &v1alpha1.TestBed{}
		bed.Name, bed.Spec.Engine.Kind, bed.Spec.Hosts = "leaf", v1alpha1.EngineXDP, &v1alpha1.BedHosts{Stack: v1alpha1.HostStackKernel}
		bed.Spec.Ports = []v1alpha1.Port{{Name: "p1", Node: "a"}, {Name: "p2", Node: "a"}}
		b := &v1alpha1.Benchmark{}
		b.Spec.Tests = []v1alpha1.Test{{Name: "soak", Soak: &v1alpha1.SoakTest{}}, {Name: "incast", Incast: &v1alpha1.IncastTest{}}}
		tc.change(bed, b)
		problems := hostsFit(b, bed)
		if got := problems.ToAggregate(); (got == nil) != (tc.want == "") || got != nil && !strings.Contains(got.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, got, tc.want)
		}
	}
}
