package crashtest

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// ErrDied is the error of each write of an operator that died.
var ErrDied = errors.New("the operator died")

// FakeAPI is an API in memory for an operator that dies at one of its writes, before or after
// it is applied, and writes nothing from then on until it is started again.
type FakeAPI struct {
	client.WithWatch
	DieAt   int
	Applied bool
	Writes  int
	Dead    bool
	Created map[string]int
}

func (m *FakeAPI) Write(apply func() error) error {
	if m.Dead {
		return ErrDied
	}
	m.Writes++
	if m.Dead = m.Writes == m.DieAt; m.Dead && !m.Applied {
		return ErrDied
	}
	if err := apply(); err != nil || !m.Dead {
		return err
	}
	return ErrDied
}

// NewFakeAPI returns an API on which the operator dies at a write, counted from 1, before or after that is applied.
func NewFakeAPI(t *testing.T, dieAt int, applied bool) *FakeAPI {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	m := &FakeAPI{DieAt: dieAt, Applied: applied, Created: map[string]int{}}
	m.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.BenchmarkSchedule{}, &v1alpha1.Benchmark{}, &v1alpha1.Reservation{}, &v1alpha1.TestBed{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				return m.Write(func() error {
					err := c.Create(ctx, obj, opts...)
					if err == nil {
						m.Created[obj.GetName()]++
					}
					return err
				})
			},
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				return m.Write(func() error { return c.Delete(ctx, obj, opts...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				return m.Write(func() error { return c.Patch(ctx, obj, patch, opts...) })
			},
			Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				return m.Write(func() error { return c.Apply(ctx, obj, opts...) })
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				return m.Write(func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
			},
		}).Build()
	return m
}

// EveryDeath lets an operator die at every write of what happens, once before and once after it
// is applied, and checks that there are enough of them.
func EveryDeath(t *testing.T, atLeast int, what string, happens func(*testing.T, *FakeAPI)) {
	t.Helper()
	for dieAt := 1; ; dieAt++ {
		before, after := NewFakeAPI(t, dieAt, false), NewFakeAPI(t, dieAt, true)
		happens(t, before)
		happens(t, after)
		if before.Writes < dieAt {
			if dieAt < atLeast {
				t.Errorf("%s took %d writes only", what, before.Writes)
			}
			return
		}
	}
}

// Must ends the test when something failed that has to work.
func (m *FakeAPI) Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("dies at %d (applied %v): %v", m.DieAt, m.Applied, err)
	}
}
