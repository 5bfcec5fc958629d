package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"nodrop.dev/nodrop/api/v1alpha1"
)

var errDied = errors.New("the operator died")

// mortal is an API in memory for an operator that dies at one of its writes, before or after
// it is applied, and writes nothing from then on until it is started again.
type mortal struct {
	client.WithWatch
	dieAt   int
	applied bool
	writes  int
	dead    bool
	created map[string]int
}

func (m *mortal) write(apply func() error) error {
	if m.dead {
		return errDied
	}
	m.writes++
	if m.dead = m.writes == m.dieAt; m.dead && !m.applied {
		return errDied
	}
	if err := apply(); err != nil || !m.dead {
		return err
	}
	return errDied
}

func newMortal(t *testing.T, dieAt int, applied bool) *mortal {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	m := &mortal{dieAt: dieAt, applied: applied, created: map[string]int{}}
	m.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.BenchmarkSchedule{}, &v1alpha1.Benchmark{}, &v1alpha1.Reservation{}, &v1alpha1.TestBed{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				return m.write(func() error {
					err := c.Create(ctx, obj, opts...)
					if err == nil {
						m.created[obj.GetName()]++
					}
					return err
				})
			},
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				return m.write(func() error { return c.Delete(ctx, obj, opts...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				return m.write(func() error { return c.Patch(ctx, obj, patch, opts...) })
			},
			Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				return m.write(func() error { return c.Apply(ctx, obj, opts...) })
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				return m.write(func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
			},
		}).Build()
	return m
}

// everyDeath lets an operator die at every write of what happens, once before and once after it
// is applied, and checks that there are enough of them.
func everyDeath(t *testing.T, atLeast int, what string, happens func(*testing.T, *mortal)) {
	t.Helper()
	for dieAt := 1; ; dieAt++ {
		before, after := newMortal(t, dieAt, false), newMortal(t, dieAt, true)
		happens(t, before)
		happens(t, after)
		if before.writes < dieAt {
			if dieAt < atLeast {
				t.Errorf("%s took %d writes only", what, before.writes)
			}
			return
		}
	}
}

// must ends the test when something failed that has to work.
func (m *mortal) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("dies at %d (applied %v): %v", m.dieAt, m.applied, err)
	}
}

// TestScheduleSurvivesEveryDeath lets an operator die at every write of three firings, once
// before and once after it is applied: every benchmark is made, and none twice.
func TestScheduleSurvivesEveryDeath(t *testing.T) {
	everyDeath(t, 20, "three firings of three benchmarks", threeFirings)
}

func threeFirings(t *testing.T, m *mortal) {
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
	// The first write is that of the test, which does not die.
	m.writes--
	m.must(t, direct.Create(ctx, s))
	clear(m.created)
	look := func() {
		t.Helper()
		for range 6 {
			m.dead = false
			r := &scheduleReconciler{base{Client: m, live: m, recorder: events.NewFakeRecorder(100), Options: Options{
				Now: func() time.Time { return now }, Sweep: time.Minute, Recheck: time.Second,
			}}}
			if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil && !errors.Is(err, errDied) {
				m.must(t, err)
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
		if !maps.Equal(m.created, want) {
			t.Fatalf("dies at %d (applied %v): made %v, want %v", m.dieAt, m.applied, m.created, slices.Sorted(maps.Keys(want)))
		}
		// Two of the three end, and the limits delete what is older.
		var all v1alpha1.BenchmarkList
		m.must(t, direct.List(ctx, &all))
		for i := range all.Items {
			b := &all.Items[i]
			if b.Labels[v1alpha1.LabelCell] == "c" || b.Status.Phase.Finished() {
				continue
			}
			b.Status.Phase = v1alpha1.PhasePassed
			m.must(t, direct.Status().Update(ctx, b))
		}
		now = now.Add(24*time.Hour - time.Minute)
		look()
	}
	m.must(t, direct.Get(ctx, client.ObjectKeyFromObject(s), s))
	if s.Status.Firing != nil || s.Status.ActiveCount != 3 || s.Status.LastScheduleTime.Day() != 3 {
		t.Errorf("dies at %d (applied %v): the status is %+v", m.dieAt, m.applied, s.Status)
	}
}
