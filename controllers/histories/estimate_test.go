package histories

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestEstimateOfAnotherOperator writes estimated starts, as an operator does that leads at the
// same time, to a benchmark whose bed is closed and whose place changes: each goes with a reason.
func TestEstimateOfAnotherOperator(t *testing.T) {
	inLab(t, 2, func(ctx context.Context, w *world) {
		w.changeBed(ctx, "sim", func(b *v1alpha1.TestBed) { cordon(b, true) })
		if err := w.Create(ctx, benchmark("b", "sim", 0)); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			// The second change is shown half a minute after the first; just before that an
			// estimate appears.
			_ = w.Create(ctx, benchmark(nameOf(2*i), "sim", 50))
			time.Sleep(10 * time.Second)
			_ = w.Create(ctx, benchmark(nameOf(2*i+1), "sim", 50))
			time.Sleep(18*time.Second + time.Duration(i)*100*time.Millisecond)
			b := &v1alpha1.Benchmark{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: team, Name: "b"}, b); err != nil {
				t.Fatal(err)
			}
			if b.Status.Phase != v1alpha1.PhaseQueued || b.Status.EstimatedStartTime != nil {
				t.Fatalf("a benchmark whose bed is closed has %+v", b.Status)
			}
			b.Status.EstimatedStartTime, b.Status.EstimateChange = &metav1.Time{Time: time.Now().Add(30 * time.Second)}, ""
			if err := w.Status().Update(ctx, b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Minute)
		if wrong := w.check.violations(); len(wrong) > 0 {
			t.Errorf("%d of 30 estimates went without a reason: %s", len(wrong), strings.Join(wrong, "\n"))
		}
	})
}
