package allocation

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// errLate means that what was decided may not hold any more: a reservation may have come
// too near.
var errLate = errors.New("the lease could not be written in time, and is decided again")

// errNotWaiting means that a benchmark ended or got a bed that the cache does not
// show yet.
var errNotWaiting = errors.New("the benchmark does not wait any more")

// errOtherOperator means that another operator leases a bed for a benchmark, or that the cache
// does not show yet what this one did.
var errOtherOperator = errors.New("another operator leases a bed for it")

// leaseWriter writes leases of beds and attempts of benchmarks. It runs concurrently with the
// allocator, and knows only what it is given and what the API server returns.
type leaseWriter struct {
	client client.Client
	// live reads from the API server.
	live client.Reader
	// now is the operator's clock.
	now func() time.Time
}

func newLeaseWriter(b kit.Base) *leaseWriter {
	return &leaseWriter{client: b.Client, live: b.Live, now: b.Now}
}

// lease writes the lease of a bed, unless the bed was written since it was read. After the latest
// time no lease is written. A benchmark that had a bed for its present attempt begins another one.
func (w *leaseWriter) lease(ctx context.Context, b *v1alpha1.Benchmark, bed *v1alpha1.TestBed, had bool, queued int32, latest time.Time) (*v1alpha1.TestBed, error) {
	attempt := b.Status.Attempt
	if had {
		var err error
		if attempt, err = w.attemptAfter(ctx, b, bed); err != nil {
			return nil, err
		}
	}
	if w.now().After(latest) {
		return nil, errLate
	}
	return kit.PatchBed(ctx, w.client, bed, map[string]any{
		"lease": map[string]any{
			"holder": b.Namespace + "/" + b.Name, "uid": string(b.UID), "acquireTime": metav1.NewTime(w.now()), "attempt": kit.NumberOrAbsent(attempt),
			"deadlineSeconds": max(b.Spec.ActiveDeadlineSeconds-b.Status.ActiveSeconds, 1),
			// Nothing of the lease before stays.
			"preemption": nil, "activeSeconds": nil, "end": nil,
		},
		"queued": queued,
	}, bed.ResourceVersion)
}

// release removes the lease of a run that has ended.
func (w *leaseWriter) release(ctx context.Context, bed string, run labobjects.Run) error {
	return kit.ReleaseBed(ctx, w.client, w.live, bed, run)
}

// attemptAfter begins another attempt of a benchmark whose lease was removed, and returns its number. A
// lease that the cache does not show any more may also have ended with the benchmark's run, so that the API server
// decides whether it still waits. A new attempt would make a lease void that another operator has just
// written, so that it begins only if the bed is as the cache knows it.
func (w *leaseWriter) attemptAfter(ctx context.Context, b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) (int32, error) {
	live := &v1alpha1.Benchmark{}
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(b), live); err != nil {
		return 0, fmt.Errorf("reading the benchmark: %w", err)
	}
	if live.UID != b.UID || !kit.Waits(live) || kit.IsHeld(live) {
		return 0, errNotWaiting
	}
	conflict := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("benchmarks").GroupResource(), b.Name, errOtherOperator)
	if live.Status.Attempt != b.Status.Attempt {
		return 0, conflict
	}
	now := &v1alpha1.TestBed{}
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(bed), now); err != nil {
		return 0, fmt.Errorf("reading the bed: %w", err)
	}
	if now.ResourceVersion != bed.ResourceVersion {
		return 0, conflict
	}
	return w.nextAttempt(ctx, live)
}

// nextAttempt ends the attempt of a benchmark, unless its status was written since it was read, and
// returns the number of the next one.
func (w *leaseWriter) nextAttempt(ctx context.Context, b *v1alpha1.Benchmark) (int32, error) {
	next := b.DeepCopy()
	next.Status.Attempt++
	attempt := next.Status.Attempt
	if err := kit.PatchStatus(ctx, w.client, w.live, b, next); err != nil {
		return 0, fmt.Errorf("beginning another attempt: %w", err)
	}
	return attempt, nil
}

// releasePart releases the beds of members unless all have one by now, or one has begun. No
// lease of the gang is being written meanwhile, so that what is missing stays so. The attempts
// of all are ended before the first bed is released, so that none begins.
func (w *leaseWriter) releasePart(ctx context.Context, members []*v1alpha1.Benchmark, size int) error {
	var beds v1alpha1.TestBedList
	if err := w.live.List(ctx, &beds); err != nil {
		return fmt.Errorf("listing test beds: %w", err)
	}
	held := map[string]*v1alpha1.Benchmark{}
	for _, b := range members {
		live := &v1alpha1.Benchmark{}
		err := w.live.Get(ctx, client.ObjectKeyFromObject(b), live)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading benchmark %s/%s: %w", b.Namespace, b.Name, err)
		}
		if err != nil || live.UID != b.UID {
			continue
		}
		if kit.Begun(live) {
			return nil
		}
		for i := range beds.Items {
			if kit.HasLease(&beds.Items[i], labobjects.RunOf(live)) {
				held[beds.Items[i].Name] = live
			}
		}
	}
	if len(held) >= size {
		return nil
	}
	for _, b := range held {
		if _, err := w.nextAttempt(ctx, b); err != nil {
			return err
		}
	}
	for bed, b := range held {
		if err := kit.ReleaseBed(ctx, w.client, w.live, bed, labobjects.RunOf(b)); err != nil {
			return err
		}
	}
	return nil
}

// preempt writes into the lease of a bed for which benchmark it is taken from its holder.
func (w *leaseWriter) preempt(ctx context.Context, bed *v1alpha1.TestBed, by queue.Key) (*v1alpha1.TestBed, error) {
	return kit.PatchBed(ctx, w.client, bed, map[string]any{
		"lease": map[string]any{"preemption": v1alpha1.Preemption{By: by.String(), Time: metav1.NewTime(w.now())}},
	}, bed.ResourceVersion)
}
