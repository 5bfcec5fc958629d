package allocation

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestPassOn decides on a bed whose holder has ended while its lease is still stored.
func TestPassOn(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(bed *v1alpha1.TestBed, holder *v1alpha1.Benchmark)
		sharing bool
		passes  bool
	}{
		"clean": {passes: true},
		"not cleaned up": {change: func(_ *v1alpha1.TestBed, b *v1alpha1.Benchmark) {
			b.Status.Conditions[0].Status = metav1.ConditionFalse
		}},
		"another attempt":  {change: func(bed *v1alpha1.TestBed, _ *v1alpha1.Benchmark) { bed.Status.Lease.Attempt = 1 }},
		"had another bed":  {change: func(_ *v1alpha1.TestBed, b *v1alpha1.Benchmark) { b.Status.TestBedName = "sim-001" }},
		"lease was ended":  {change: func(bed *v1alpha1.TestBed, _ *v1alpha1.Benchmark) { bed.Status.Lease.End = &v1alpha1.LeaseEnd{} }},
		"shares something": {sharing: true},
		"quarantined": {change: func(bed *v1alpha1.TestBed, _ *v1alpha1.Benchmark) {
			bed.Status.Conditions = append(bed.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionTrue})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &simulatedLab{benchmarks: 8, beds: 1, teams: 1, run: func(int) time.Duration { return time.Minute }, turnover: func(int) time.Duration { return time.Hour }}
			l.begin()
			l.step()
			number := slices.IndexFunc(l.starts, func(start time.Time) bool { return !start.IsZero() })
			if number < 0 || l.view.line.queue.Waiting("sim-000") == 0 {
				t.Fatal("no benchmark has the bed while others wait for it")
			}
			holder, bed := l.objects.benchmarks[number].DeepCopy(), l.objects.beds[0].DeepCopy()
			l.now = l.now.Add(time.Minute)
			holder.Status.Phase, holder.Status.CompletionTime = v1alpha1.PhaseMeasured, l.stored()
			holder.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionCleanedUp, Status: metav1.ConditionTrue}}
			if tc.change != nil {
				tc.change(bed, holder)
			}
			l.objects.beds[0] = bed
			l.storeBed(0, bed.Status.Lease)
			if tc.sharing {
				l.view.inventory.beds[bed.Name].conflicts = []string{"sim-001"}
			}
			l.store(number, holder)
			if decisions := l.view.line.queue.Decide(l.view.snapshot(l.now)); (len(decisions) == 1) != tc.passes {
				t.Errorf("%d decisions, want that the next benchmark gets the bed: %v", len(decisions), tc.passes)
			}
		})
	}
}
