package allocation

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/internal/team"
)

// preemptable returns the lease of a bed in the form of the queue, or nil without a lease.
func (a *Allocator) preemptable(view *bedView) *queue.Lease {
	l := view.bed.Status.Lease
	if l == nil || view.granting != nil {
		return nil
	}
	lease := &queue.Lease{Holder: view.holder(), Since: l.AcquireTime.Time}
	if l.Preemption != nil {
		namespace, name, _ := strings.Cut(l.Preemption.By, "/")
		lease.By = queue.Key{Namespace: namespace, Name: name}
	}
	if w := a.benchmarks[lease.Holder]; w != nil && w.b.Status.Outcome == "" && !w.b.Spec.Abort && !view.preempting {
		lease.Priority, _ = team.Priority(a.policy, w.b)
		lease.Preemptible = w.b.Spec.Preemptible
	}
	return lease
}

// preempt takes beds from their holders for those that preempt and get none.
func (a *Allocator) preempt(ctx context.Context, now time.Time) {
	a.keepPromises()
	if a.policy == nil {
		return
	}
	for _, p := range a.queue.Preempt(a.snapshot(now)) {
		view := a.beds[p.Bed]
		view.preempting = true
		a.promises[p.Bed] = p.For.Key
		bed, by := view.bed, p.For.Key
		a.begin(func() written {
			after, err := kit.PatchBed(ctx, a.Client, bed, map[string]any{
				"lease": map[string]any{"preemption": v1alpha1.Preemption{By: by.String(), Time: metav1.NewTime(a.Now())}},
			}, bed.ResourceVersion)
			if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "The bed could not be taken from its holder", "bed", bed.Name, "for", by.String())
			}
			return func(time.Time) {
				if view := a.beds[bed.Name]; view != nil {
					view.preempting = false
				}
				if err == nil {
					a.applyBed(bed.Name, after)
				} else if a.promises[bed.Name] == by {
					delete(a.promises, bed.Name)
				}
			}
		})
	}
}

// keepPromises remembers for whom beds are taken from their holders, and forgets that when
// those have a bed or wait no more.
func (a *Allocator) keepPromises() {
	for name, view := range a.beds {
		if l := view.bed.Status.Lease; l != nil && l.Preemption != nil {
			namespace, by, _ := strings.Cut(l.Preemption.By, "/")
			a.promises[name] = queue.Key{Namespace: namespace, Name: by}
		}
	}
	for name, key := range a.promises {
		if w := a.benchmarks[key]; a.beds[name] == nil || w == nil || !w.granting && !a.queue.Has(key) && w.retry.IsZero() {
			delete(a.promises, name)
		}
	}
}
