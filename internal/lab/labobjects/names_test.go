package labobjects

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestRunOf has objects of the attempt that has the bed, also while it is being returned, and
// where the status is that of an operator that did not number attempts.
func TestRunOf(t *testing.T) {
	returning := &v1alpha1.Preemption{By: "team/urgent"}
	for name, tc := range map[string]struct {
		status v1alpha1.BenchmarkStatus
		want   int32
	}{
		"first":                         {v1alpha1.BenchmarkStatus{}, 0},
		"third":                         {v1alpha1.BenchmarkStatus{Attempt: 2}, 2},
		"third is being returned":       {v1alpha1.BenchmarkStatus{Attempt: 3, Preemption: returning}, 2},
		"returned by an older operator": {v1alpha1.BenchmarkStatus{Preemption: returning}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := objects.Benchmark("", "", objects.BenchmarkStatus(tc.status))
			b.UID = "7d5f3f0e-5c7e-4a52-9f6a-0f7c31a7b9de"
			run := RunOf(b)
			if labels := run.labels(RoleRunner); run.Attempt != tc.want || !run.Has(labels) || AttemptOf(labels) != tc.want {
				t.Errorf("the attempt is %d with labels %v, want %d", run.Attempt, labels, tc.want)
			}
			other := run
			other.Attempt++
			if other.Has(run.labels("")) || other.Prefix() == run.Prefix() {
				t.Errorf("attempts %d and %d share objects: %s and %s", run.Attempt, other.Attempt, run.Prefix(), other.Prefix())
			}
		})
	}
}
