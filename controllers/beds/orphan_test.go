package beds

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestSecondLeaseOfAnAttempt has a lease of a bed, and a benchmark with a bed in its status, as the cache and the API server have it. The lease
// of another bed for the same attempt, or an earlier one, goes. One of an attempt that the cache does not know yet stays.
func TestSecondLeaseOfAnAttempt(t *testing.T) {
	type state struct {
		bed     string
		attempt int32
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		cached, stored state
		leased         int32
		stays          bool
	}{
		"of the present attempt, on another bed":     {state{"other", 1}, state{"other", 1}, 1, false},
		"of an earlier attempt, on another bed":      {state{"other", 1}, state{"other", 1}, 0, false},
		"of the present attempt, on its bed":         {state{"bed", 1}, state{"bed", 1}, 1, true},
		"of a later attempt than the cache has":      {state{"other", 0}, state{"bed", 1}, 1, true},
		"of a later attempt, and not taken over yet": {state{"other", 0}, state{"", 1}, 1, true},
		"of a later attempt, on another bed":         {state{"other", 0}, state{"third", 1}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(s state) *v1alpha1.Benchmark {
				b := objects.Benchmark("team", "b")
				b.UID, b.Status.TestBedName, b.Status.Attempt = "u", s.bed, s.attempt
				return b
			}
			r := &Reconciler{Base: kit.Base{
				Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(of(tc.cached)).Build(),
				Live:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(of(tc.stored)).Build(),
				Timers: kit.NewTimers(), Options: kit.Options{}.WithDefaults(),
			}}
			bed := objects.TestBed("bed")
			bed.Status.Lease = &v1alpha1.BedLease{Holder: "team/b", UID: "u", Attempt: tc.leased, DeadlineSeconds: 3600}
			if _, err := r.orphan(t.Context(), bed, time.Now()); err != nil {
				t.Fatal(err)
			}
			if stays := bed.Status.Lease != nil; stays != tc.stays {
				t.Errorf("lease stays: %v, want %v", stays, tc.stays)
			}
		})
	}
}
