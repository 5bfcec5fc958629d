package benchmarks

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestBedThatIsPassedOn has a bed as the cache has it, with another benchmark that waits. If the traffic pods did not come up, the bed is released
// for a probe, although the cache does not know of the doubt yet.
func TestBedThatIsPassedOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		doubted  bool
		passedOn bool
	}{
		"a measurement that ended":   {v1alpha1.ReasonTrafficReady, false, true},
		"pods that did not come up":  {v1alpha1.ReasonTrafficFailed, false, false},
		"a doubt of another holder":  {v1alpha1.ReasonTrafficReady, true, false},
		"a doubt that the cache has": {v1alpha1.ReasonTrafficFailed, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := objects.Benchmark("team", "b", objects.UID("0f8fad5b-d9cb-469f-a165-70867728950e"))
			s := kit.NewScope(b, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), kit.NewTimers())
			s.Status.TestBedName = "bed"
			s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, tc.reason, "as it was")
			bed := objects.TestBed("bed")
			bed.Finalizers = []string{v1alpha1.FinalizerLeased}
			bed.Status.Queued, bed.Status.Health = 1, &v1alpha1.BedHealth{Doubted: tc.doubted}
			bed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: bed.Generation}}
			bed.Status.Lease = &v1alpha1.BedLease{Holder: "team/b", UID: string(b.UID)}
			if got := isPassedOn(s, bed); got != tc.passedOn {
				t.Errorf("passed on: %t, want %t", got, tc.passedOn)
			}
		})
	}
}
