package allocation

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/internal/lab/queue"
)

// promises maps a bed to the benchmark for which it is being taken from its holder.
type promises map[string]queue.Key

// preemption takes beds from their holders for benchmarks that preempt.
type preemption struct {
	view     *view
	requests *requests
	leases   *leaseWriter
}

// preempt takes beds from their holders for those that preempt and get none.
func (p *preemption) preempt(ctx context.Context, now time.Time) {
	v := p.view
	v.promises.keep(v.inventory, v.line.queue)
	if v.teams.policy == nil {
		return
	}
	for _, d := range v.line.queue.Preempt(v.snapshot(now)) {
		seen := v.inventory.beds[d.Bed]
		seen.preempting = true
		v.promises[d.Bed] = d.For.Key
		bed, by := seen.bed, d.For.Key
		p.requests.begin(func() written {
			after, err := p.leases.preempt(ctx, bed, by)
			if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "The bed could not be taken from its holder", "bed", bed.Name, "for", by.String())
			}
			return func(time.Time) {
				if seen := v.inventory.beds[bed.Name]; seen != nil {
					seen.preempting = false
				}
				if err == nil {
					v.applyBed(bed.Name, after)
				} else if v.promises[bed.Name] == by {
					delete(v.promises, bed.Name)
				}
			}
		})
	}
}

// keep remembers for whom beds are taken from their holders, and forgets that when
// those have a bed or wait no more.
func (p promises) keep(inv *inventory, waiting *queue.Queue) {
	for name, seen := range inv.beds {
		if l := seen.bed.Status.Lease; l != nil && l.Preemption != nil {
			p[name] = keyOf(l.Preemption.By)
		}
	}
	for name, key := range p {
		if w := inv.benchmarks[key]; inv.beds[name] == nil || w == nil || !w.granting && !waiting.Has(key) && w.retry.IsZero() {
			delete(p, name)
		}
	}
}
