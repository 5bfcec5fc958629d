package report

import (
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func TestSharedNote(t *testing.T) {
	group := objects.TestBed("")
	group.Spec.PortGroup = &v1alpha1.PortGroup{Device: "leaf-1"}
	many := slices.Repeat([]string{"team/b"}, maxSharedWith)
	for name, tc := range map[string]struct {
		bed  *v1alpha1.TestBed
		with []string
		want string
	}{
		"a whole device": {bed: objects.TestBed("")},
		"no bed":         {with: []string{"team/b"}},
		"alone":          {bed: group, want: "the bed is a port group of device leaf-1: no benchmark had another one during the measurement"},
		"with one":       {bed: group, with: []string{"team/b"}, want: "the bed is a port group of device leaf-1: 1 benchmark had others during the measurement: team/b"},
		"with two":       {bed: group, with: []string{"team/b", "x/c"}, want: "the bed is a port group of device leaf-1: 2 benchmarks had others during the measurement: team/b, x/c"},
	} {
		if got := shared(&v1alpha1.BenchmarkStatus{SharedWith: tc.with}, tc.bed); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := shared(&v1alpha1.BenchmarkStatus{SharedWith: many}, group); got[:80] != "the bed is a port group of device leaf-1: 16 benchmarks or more had others during"[:80] {
		t.Error(got)
	}
	content := Content{Benchmark: objects.Benchmark("", ""), Bed: group}
	if d := New(content); !slices.ContainsFunc(d.Notes, func(n string) bool { return n == shared(&v1alpha1.BenchmarkStatus{}, group) }) {
		t.Errorf("the document has the notes %q", d.Notes)
	}
}
