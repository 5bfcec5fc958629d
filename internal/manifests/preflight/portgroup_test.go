package preflight

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// leaf has two port groups and, where it is wanted, a bed with all ports.
func leaf(whole ...v1alpha1.TestBed) func(*Input) {
	group := func(name string, a, b int) v1alpha1.TestBed {
		return bed(name, func(bed *v1alpha1.TestBed) {
			bed.Spec.PortGroup = &v1alpha1.PortGroup{Device: "leaf-1"}
			bed.Spec.Ports = []v1alpha1.Port{port(a), port(b)}
			bed.Labels = map[string]string{"device": "leaf-1"}
		})
	}
	return func(in *Input) {
		in.Beds = append([]v1alpha1.TestBed{group("one", 1, 2), group("two", 3, 4)}, whole...)
	}
}

func allPorts(change ...func(*v1alpha1.TestBed)) v1alpha1.TestBed {
	return bed("leaf-1", append(change, func(bed *v1alpha1.TestBed) {
		bed.Spec.Ports = []v1alpha1.Port{port(1), port(2), port(3), port(4)}
	})...)
}

func TestPortGroup(t *testing.T) {
	resets := func(in *Input) {
		in.Benchmark.Spec.Tests = append(in.Benchmark.Spec.Tests, v1alpha1.Test{Name: "cold-start", Reset: &v1alpha1.ResetTest{Load: "10%"}})
	}
	const refused = "spec.tests[1].reset: Forbidden: test cold-start resets the device, and TestBed one is a port group of device leaf-1, whose other ports are in use at the same time: "
	for name, tc := range map[string]struct {
		change []func(*Input)
		want   string
	}{
		"forwarding":                  {[]func(*Input){leaf(allPorts())}, ""},
		"a reset":                     {[]func(*Input){leaf(allPorts()), resets}, refused + "run it on the bed with the whole device, leaf-1"},
		"a reset, without a grant":    {[]func(*Input){leaf(allPorts(func(b *v1alpha1.TestBed) { b.Spec.Access = nil })), resets}, refused + "ask the lab for a grant on the bed with the whole device, leaf-1, or leave the test out"},
		"a reset, without such a bed": {[]func(*Input){leaf(), resets}, refused + "ask the lab for a TestBed with all ports of the device, or leave the test out"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(tc.change...)
			a := Benchmark(in)
			got := ""
			if len(a.Problems) > 0 {
				got = a.Problems.ToAggregate().Error()
			}
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if tc.want == "" && len(a.Beds) != 1 {
				t.Errorf("fits on %d beds", len(a.Beds))
			}
			if err := Fit(in.Benchmark, &in.Profiles[0], &in.Beds[0], nil, nil); tc.want != "" && len(err) == 0 {
				t.Error("fits without the other beds")
			}
		})
	}
}
