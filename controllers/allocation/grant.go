package allocation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
)

// Waits before a grant is tried again. After a conflict the bed is kept for the
// benchmark, so that no later one overtakes it; after another failure later ones may
// have the bed, so that the queue is not blocked.
const (
	retryConflict   = 50 * time.Millisecond
	retryFailure    = time.Second
	retryFailureMax = time.Minute
)

// writesAtOnce bounds the allocator's concurrent requests.
const writesAtOnce = 32

// writes are the allocator's requests under way.
type writes struct {
	slots chan struct{}
	group *sync.WaitGroup
	// failed are the benchmarks that wait to be tried again.
	failed map[queue.Key]bool
}

func newWrites() writes {
	return writes{slots: make(chan struct{}, writesAtOnce), group: &sync.WaitGroup{}, failed: map[queue.Key]bool{}}
}

// begin runs a write concurrently with the allocator, and passes it the result.
func (a *Allocator) begin(write func() written) {
	a.writes.group.Go(func() {
		a.writes.slots <- struct{}{}
		result := write()
		<-a.writes.slots
		a.inbox.note(func(c *changes) { c.written = append(c.written, result) })
	})
}

func (w *writes) wait() { w.group.Wait() }

// grant begins to write a lease, and assumes it until the write is done.
func (a *Allocator) grant(ctx context.Context, d queue.Decision) {
	key, name := d.Entry.Key, d.Bed
	w, view := a.benchmarks[key], a.beds[name]
	w.granting, view.granting = true, &key
	a.queue.Remove(key)
	b, bed, queued := w.b, view.bed, int32(a.queue.Waiting(name))
	latest := a.Now().Add(kit.LeaseMargin / 2)
	a.begin(func() written {
		leased, err := a.lease(ctx, b, bed, queued, latest)
		if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "The bed could not be leased", "benchmark", key.String(), "bed", name)
		}
		return func(now time.Time) { a.granted(key, name, leased, err, now) }
	})
}

// granted ends the assumption: the bed is leased, or the benchmark waits again.
func (a *Allocator) granted(key queue.Key, name string, leased *v1alpha1.TestBed, err error, now time.Time) {
	w, view := a.benchmarks[key], a.beds[name]
	if view != nil {
		view.granting = nil
		if err != nil {
			view.retry = now.Add(retryConflict)
		}
	}
	if err == nil {
		a.applyWritten(leased)
	}
	if w == nil {
		return
	}
	w.granting = false
	switch {
	case err == nil:
		w.failures = 0
	case !apierrors.IsConflict(err):
		w.retry = now.Add(min(retryFailure<<min(w.failures, 6), retryFailureMax))
		w.failures++
		a.writes.failed[key] = true
	}
	a.place(w)
}

// errLate means that what was decided may not hold any more: a reservation may have come
// too near.
var errLate = errors.New("the lease could not be written in time, and is decided again")

// errNotWaiting means that a benchmark ended or got a bed that the cache does not
// show yet.
var errNotWaiting = errors.New("the benchmark does not wait any more")

// errOtherOperator means that another operator leases a bed for a benchmark, or that the cache
// does not show yet what this one did.
var errOtherOperator = errors.New("another operator leases a bed for it")

// lease writes the lease of a bed. The benchmark gets its finalizer first, so that it
// cannot vanish while it has a bed. After the latest time no lease is written.
func (a *Allocator) lease(ctx context.Context, b *v1alpha1.Benchmark, bed *v1alpha1.TestBed, queued int32, latest time.Time) (*v1alpha1.TestBed, error) {
	attempt, err := a.claim(ctx, b, bed)
	if err != nil {
		return nil, err
	}
	if a.Now().After(latest) {
		return nil, errLate
	}
	return kit.PatchBed(ctx, a.Client, bed, map[string]any{
		"lease": v1alpha1.BedLease{
			Holder: b.Namespace + "/" + b.Name, UID: string(b.UID), AcquireTime: metav1.NewTime(a.Now()), Attempt: attempt,
		},
		"queued": queued,
	}, bed.ResourceVersion)
}

// claim adds the finalizer to a benchmark that waits, and returns the number of its attempt.
// Where the finalizer is left over from an earlier attempt, a new one begins. Each is written
// under the optimistic lock, which makes sure that the benchmark still waits, and that of two
// operators that lease beds for it only one writes the lease that counts: the other gets a
// conflict. A new attempt would make a lease void that another operator has just written, so
// that it begins only if the bed is as the cache knows it.
func (a *Allocator) claim(ctx context.Context, b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) (attempt int32, _ error) {
	known, leftOver := b.Status.Attempt, controllerutil.ContainsFinalizer(b, v1alpha1.FinalizerCleanUp)
	conflict := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("benchmarks").GroupResource(), b.Name, errOtherOperator)
	for range 2 {
		if !controllerutil.ContainsFinalizer(b, v1alpha1.FinalizerCleanUp) {
			body := map[string]any{"metadata": map[string]any{
				"resourceVersion": b.ResourceVersion,
				"finalizers":      kit.FinalizersOfHolder(b, a.Archive),
			}}
			err := a.Patch(ctx, kit.Named(&v1alpha1.Benchmark{}, b), kit.MergePatch(body))
			if err == nil {
				return b.Status.Attempt, nil
			}
			if !apierrors.IsConflict(err) {
				return 0, fmt.Errorf("adding the finalizer: %w", err)
			}
		}
		live := &v1alpha1.Benchmark{}
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(b), live); err != nil {
			return 0, fmt.Errorf("reading the benchmark: %w", err)
		}
		if live.UID != b.UID || !kit.Waits(live) || kit.IsHeld(live) {
			return 0, errNotWaiting
		}
		if controllerutil.ContainsFinalizer(live, v1alpha1.FinalizerCleanUp) {
			if !leftOver || live.Status.Attempt != known {
				return 0, conflict
			}
			now := &v1alpha1.TestBed{}
			if err := a.Live.Get(ctx, client.ObjectKeyFromObject(bed), now); err != nil {
				return 0, fmt.Errorf("reading the bed: %w", err)
			}
			if now.ResourceVersion != bed.ResourceVersion {
				return 0, conflict
			}
			return a.nextAttempt(ctx, live)
		}
		b = live
	}
	return 0, conflict
}

// nextAttempt ends the attempt of a benchmark, unless it was written since it was read, and
// returns the number of the next one.
func (a *Allocator) nextAttempt(ctx context.Context, b *v1alpha1.Benchmark) (int32, error) {
	next := b.Status.Attempt + 1
	body := map[string]any{
		"metadata": map[string]any{"resourceVersion": b.ResourceVersion},
		"status":   map[string]any{"attempt": next},
	}
	if err := a.Client.Status().Patch(ctx, kit.Named(&v1alpha1.Benchmark{}, b), kit.MergePatch(body)); err != nil {
		return 0, fmt.Errorf("beginning another attempt of benchmark %s/%s: %w", b.Namespace, b.Name, err)
	}
	return next, nil
}
