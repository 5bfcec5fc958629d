package histories

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestWaitingStalls lets benchmarks wait, in simulated time, for what a user has to correct:
// for a minute that may be an edit, and then their status shows that they are stalled,
// although no event has woken a controller.
func TestWaitingStalls(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(context.Context, *world)
		stalls  bool
	}{
		"profile missing": {func(ctx context.Context, w *world) { _ = w.Delete(ctx, profile()) }, true},
		"bed not ready": {func(ctx context.Context, w *world) {
			_ = w.Delete(ctx, configMap("model", "", ""))
			time.Sleep(time.Minute)
		}, true},
		"bed taken": {func(ctx context.Context, w *world) {
			w.lab.runners.silence(30 * time.Second)
			_ = w.Create(ctx, benchmark("first", "sim", 0))
			time.Sleep(time.Second)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 1, func(ctx context.Context, w *world) {
				tc.prepare(ctx, w)
				if err := w.Create(ctx, benchmark("b", "sim", 0)); err != nil {
					t.Fatal(err)
				}
				is := func() metav1.ConditionStatus {
					b := &v1alpha1.Benchmark{}
					if err := w.Get(ctx, client.ObjectKey{Namespace: team, Name: "b"}, b); err != nil {
						t.Fatal(err)
					}
					if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled); c != nil {
						return c.Status
					}
					return ""
				}
				time.Sleep(20 * time.Second)
				early, late := metav1.ConditionStatus(""), metav1.ConditionStatus("")
				if tc.stalls {
					early, late = metav1.ConditionFalse, metav1.ConditionTrue
				}
				if got := is(); got != early {
					t.Errorf("after 20 s Stalled is %q, want %q", got, early)
				}
				if tc.stalls {
					time.Sleep(60 * time.Second)
				}
				if got := is(); got != late {
					t.Errorf("after 80 s Stalled is %q, want %q", got, late)
				}
			})
		})
	}
}
