package schedules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/crashtest"
	"nodrop.dev/nodrop/controllers/kit"
)

// TestScheduleSurvivesEveryDeath lets an operator die at every write of three firings, once
// before and once after it is applied: every benchmark is made, and none twice.
func TestScheduleSurvivesEveryDeath(t *testing.T) {
	crashtest.EveryDeath(t, 20, "three firings of three benchmarks", threeFirings)
}

func threeFirings(t *testing.T, m *crashtest.FakeAPI) {
	t.Helper()
	ctx := t.Context()
	now := time.Date(2027, 1, 1, 1, 59, 0, 0, time.UTC)
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nightly"}}
	one := int32(1)
	s.Spec = v1alpha1.BenchmarkScheduleSpec{
		Schedule: "0 2 * * *", TimeZone: "UTC", ConcurrencyPolicy: v1alpha1.ConcurrencyReplace,
		SuccessfulHistoryLimit: &one, FailedHistoryLimit: &one, Matrix: &v1alpha1.BenchmarkMatrix{TestBedNames: []string{"a", "b", "c"}},
	}
	direct := m.WithWatch
	// The test makes the first write, and does not die.
	m.Writes--
	m.Must(t, direct.Create(ctx, s))
	clear(m.Created)
	look := func() {
		t.Helper()
		for range 6 {
			m.Dead = false
			r := &Reconciler{Base: kit.Base{Client: m, Live: m, Recorder: events.NewFakeRecorder(100), Options: kit.Options{
				Now: func() time.Time { return now }, Sweep: time.Minute, Recheck: time.Second,
			}}}
			if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil && !errors.Is(err, crashtest.ErrDied) {
				m.Must(t, err)
			}
		}
	}
	look()
	want := map[string]int{}
	for day := 1; day <= 3; day++ {
		now = now.Add(time.Minute)
		look()
		for _, bed := range s.Spec.Matrix.TestBedNames {
			want[fmt.Sprintf("nightly-202701%02d-0200-%s", day, bed)] = 1
		}
		if !maps.Equal(m.Created, want) {
			t.Fatalf("dies at %d (applied %v): made %v, want %v", m.DieAt, m.Applied, m.Created, slices.Sorted(maps.Keys(want)))
		}
		// Two of the three end, and the limits delete what is older.
		var all v1alpha1.BenchmarkList
		m.Must(t, direct.List(ctx, &all))
		for i := range all.Items {
			b := &all.Items[i]
			if b.Labels[v1alpha1.LabelCell] == "c" || b.Status.Phase.Finished() {
				continue
			}
			b.Status.Phase = v1alpha1.PhaseMeasured
			m.Must(t, direct.Status().Update(ctx, b))
		}
		now = now.Add(24*time.Hour - time.Minute)
		look()
	}
	m.Must(t, direct.Get(ctx, client.ObjectKeyFromObject(s), s))
	if s.Status.Firing != nil || s.Status.ActiveCount != 3 || s.Status.LastScheduleTime.Day() != 3 {
		t.Errorf("dies at %d (applied %v): the status is %+v", m.DieAt, m.Applied, s.Status)
	}
}
