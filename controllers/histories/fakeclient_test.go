package histories

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// link is the connection of one operator to the API server, with injected faults.
type link struct {
	mu  sync.Mutex
	rng *rand.Rand
	// latency bounds how long a request takes, at random.
	latency time.Duration
	// errors is the number of failures in a hundred requests.
	errors int
	// dieAt is the write, counted from 1, at which the operator dies: before it is
	// applied or after; 0 is never.
	writes, dieAt int
	after         bool
	died          func()
	dead          bool
	// skew is by how much the operator's clock differs, and stepped by how much it was set since.
	skew, stepped time.Duration
	// check and requests count requests; nil counts none.
	check    *checker
	requests *requests
	// runnables are the parts of the operator, if it is simulated.
	runnables []manager.Runnable
}

var errDead = errors.New("the operator is dead")

// send performs one request.
func (l *link) send(ctx context.Context, write bool, apply func() error) error {
	if l == nil {
		return apply()
	}
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return errDead
	}
	var wait time.Duration
	if l.latency > 0 {
		wait = time.Duration(l.rng.Int64N(int64(l.latency)))
	}
	fails, unheard := l.rng.IntN(100) < l.errors, l.rng.IntN(2) == 0
	dies := false
	if write {
		l.writes++
		dies = l.writes == l.dieAt
	}
	if dies && !l.after {
		l.die()
		l.mu.Unlock()
		return errDead
	}
	l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	time.Sleep(wait) // A request in transit arrives, even when the sender dies.
	if fails && !unheard {
		return apierrors.NewServiceUnavailable("the API server is busy")
	}
	err := apply()
	l.mu.Lock()
	defer l.mu.Unlock()
	if dies {
		l.die()
	}
	if l.dead {
		return errDead
	}
	if fails {
		return apierrors.NewTimeoutError("the answer was lost", 1)
	}
	return err
}

// slow bounds how long a request takes from now on.
func (l *link) slow(latency time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency = latency
}

// die ends the operator. The caller holds the lock.
func (l *link) die() {
	if !l.dead {
		l.dead = true
		go l.died()
	}
}

// fakeClient is a client of fakeAPI.
type fakeClient struct {
	api  *fakeAPI
	link *link
	// cache is the source of reads; nil reads from the API.
	cache *fakeCache
}

var _ client.Client = (*fakeClient)(nil)

func (c *fakeClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if c.cache != nil && c.cache.watches(obj) {
		return c.cache.Get(ctx, key, obj)
	}
	c.counted(key.Namespace, key.Name, nil)
	return c.link.send(ctx, false, func() error { return c.api.get(key, obj) })
}

func (c *fakeClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind := listKind(c.api, list)
	if c.cache != nil && c.cache.kinds[kind] {
		return c.cache.List(ctx, list, opts...)
	}
	o := (&client.ListOptions{}).ApplyOptions(opts)
	selected := map[string]string{}
	if o.LabelSelector != nil {
		selected[labobjects.LabelUID], _ = o.LabelSelector.RequiresExactMatch(labobjects.LabelUID)
	}
	c.counted(o.Namespace, "", selected)
	return c.link.send(ctx, false, func() error { return fill(list, c.api.all(kind), nil, opts) })
}

func (c *fakeClient) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	c.countedObject(obj)
	return c.link.send(ctx, true, func() error {
		if c.link != nil && c.api.gvk(obj).Kind == "Pod" {
			keep(obj)
			c.api.creating(obj)
		}
		return c.api.create(obj)
	})
}

// keep leaves the end of a pod to the kubelet.
func keep(obj client.Object) {
	if obj.GetLabels()[labobjects.LabelUID] != "" {
		obj.SetFinalizers([]string{finalizerKubelet})
	}
}

// write changes an object that exists.
func (c *fakeClient) write(ctx context.Context, obj client.Object, apply func() error) error {
	c.countedObject(obj)
	return c.link.send(ctx, true, func() error {
		if c.link != nil {
			if err := c.api.meddled(obj); err != nil {
				return err
			}
		}
		return apply()
	})
}

func (c *fakeClient) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return c.write(ctx, obj, func() error { return c.api.update(obj, false) })
}

func (c *fakeClient) Patch(ctx context.Context, obj client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.write(ctx, obj, func() error { return c.api.patch(obj, p, false) })
}

func (c *fakeClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := (&client.DeleteOptions{}).ApplyOptions(opts)
	var uid *types.UID
	if o.Preconditions != nil {
		uid = o.Preconditions.UID
	}
	c.countedObject(obj)
	return c.link.send(ctx, true, func() error { return c.api.delete(obj, uid) })
}

func (c *fakeClient) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errors.New("the fake does not delete many at once")
}

func (c *fakeClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("the fake does not apply")
}

func (c *fakeClient) Status() client.SubResourceWriter            { return &fakeStatus{c} }
func (c *fakeClient) SubResource(string) client.SubResourceClient { return nil }
func (c *fakeClient) Scheme() *runtime.Scheme                     { return c.api.scheme }
func (c *fakeClient) RESTMapper() meta.RESTMapper                 { return nil }
func (c *fakeClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	kind := c.api.gvk(obj).Kind
	return kind != "TestBed" && kind != "LabPolicy", nil
}
func (c *fakeClient) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return c.api.gvk(obj), nil
}

// fakeStatus writes the status.
type fakeStatus struct{ c *fakeClient }

func (s *fakeStatus) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errors.New("the fake creates no status")
}

func (s *fakeStatus) Update(ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.c.write(ctx, obj, func() error { return s.c.api.update(obj, true) })
}

func (s *fakeStatus) Patch(ctx context.Context, obj client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.c.write(ctx, obj, func() error { return s.c.api.patch(obj, p, true) })
}

func (s *fakeStatus) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errors.New("the fake does not apply")
}
