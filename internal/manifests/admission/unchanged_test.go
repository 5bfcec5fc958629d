package admission

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestSpecChanges checks which fields a refusal names, and what it shows of them.
func TestSpecChanges(t *testing.T) {
	t.Parallel()
	latency := func(name string, loads ...v1alpha1.Load) v1alpha1.Test {
		return v1alpha1.Test{Name: name, Latency: &v1alpha1.LatencyTest{Loads: loads, TrialDuration: metav1.Duration{Duration: time.Minute}}}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.BenchmarkSpec)
		want   []string
	}{
		"nothing": {func(*v1alpha1.BenchmarkSpec) {}, nil},
		"what may change": {func(s *v1alpha1.BenchmarkSpec) {
			s.Abort, s.Suspend, s.TTLSecondsAfterFinished = true, true, new(int32)
		}, nil},
		"none and no items":         {func(s *v1alpha1.BenchmarkSpec) { s.Gates = []v1alpha1.Gate{} }, nil},
		"a field of a test":         {func(s *v1alpha1.BenchmarkSpec) { s.Tests[1].Latency.Loads[0] = "20%" }, []string{`spec.tests[1].latency.loads[0]: Forbidden: was "10%", is "20%"`}},
		"the kind of a test":        {func(s *v1alpha1.BenchmarkSpec) { s.Tests[0].Latency, s.Tests[0].Soak = nil, &v1alpha1.SoakTest{} }, []string{`spec.tests[0].latency: Forbidden: was {"loads":["10%","50%"],"trialDuration":"1m0s"}, is absent`, "spec.tests[0].soak: Forbidden: was absent, is "}},
		"another order of loads":    {func(s *v1alpha1.BenchmarkSpec) { slices.Reverse(s.Tests[0].Latency.Loads) }, []string{`spec.tests[0].latency.loads[0]: Forbidden: was "10%", is "50%"`, `spec.tests[0].latency.loads[1]: Forbidden: was "50%", is "10%"`}},
		"another order of variants": {func(s *v1alpha1.BenchmarkSpec) { slices.Reverse(s.Variants) }, []string{`spec.variants[0]: Forbidden: was "off", is "on"`, `spec.variants[1]: Forbidden: was "on", is "off"`}},
		"one test less":             {func(s *v1alpha1.BenchmarkSpec) { s.Tests = s.Tests[:1] }, []string{"spec.tests: Forbidden: was 2 items, is 1 item"}},
		"another bed": {func(s *v1alpha1.BenchmarkSpec) {
			s.TestBedName, s.TestBedSelector = "", &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, []string{`spec.testBedName: Forbidden: was "bed", is absent`, `spec.testBedSelector: Forbidden: was absent, is {"matchLabels":{"a":"b"}}`}},
		"a pause":     {func(s *v1alpha1.BenchmarkSpec) { s.RestTime = &metav1.Duration{} }, []string{`spec.restTime: Forbidden: was absent, is "0s"`}},
		"a long text": {func(s *v1alpha1.BenchmarkSpec) { s.HistoryName = strings.Repeat("x", maxShown) }, []string{"spec.historyName: Forbidden: was absent, is a value of 66 bytes"}},
		"a number":    {func(s *v1alpha1.BenchmarkSpec) { s.Priority = 7 }, []string{"spec.priority: Forbidden: was 0, is 7"}},
	} {
		was := &v1alpha1.BenchmarkSpec{TestBedName: "bed", Variants: []v1alpha1.VariantName{"off", "on"}, Tests: []v1alpha1.Test{latency("a", "10%", "50%"), latency("b", "10%")}}
		is := was.DeepCopy()
		tc.change(is)
		got := specChanges(was, is)
		if len(got) != len(tc.want) {
			t.Errorf("%s: %v, want %q", name, got, tc.want)
			continue
		}
		for i, want := range tc.want {
			if text := got[i].Error(); !strings.HasPrefix(text, want) || !strings.HasSuffix(text, unchangeable) {
				t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(want, text))
			}
		}
	}
	was, is := &v1alpha1.BenchmarkSpec{}, &v1alpha1.BenchmarkSpec{}
	for range 2 * maxChanges {
		was.FrameSizes, is.FrameSizes = append(was.FrameSizes, 64), append(is.FrameSizes, 128)
	}
	if got := specChanges(was, is); len(got) != maxChanges {
		t.Errorf("%d changes are named, want %d", len(got), maxChanges)
	}
}
