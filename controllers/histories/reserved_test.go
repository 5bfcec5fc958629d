package histories

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func reservationName(i int) string { return fmt.Sprintf("r%d", i%reservations) }

// reservationKey returns the key of the reservation of the team whose benchmark has the
// number.
func reservationKey(i int) client.ObjectKey {
	return client.ObjectKey{Namespace: teams[i%len(teams)], Name: reservationName(i)}
}

// always is for a reservation that is in progress for all operators.
const always = 3

// booked reserves a bed. The clocks of operators differ by up to three hours: a third of the
// reservations is in progress for all of them, and the others are shorter, at a time that
// one of them believes to be near.
func booked(which int, bed string, much int, now time.Time) *v1alpha1.Reservation {
	now = now.Truncate(time.Second) // As the API server stores times, and those of a lease.
	from := now.Add(time.Duration(much%7-3)*time.Hour + time.Duration(much)*time.Second)
	until := from.Add(time.Duration(20*much) * time.Second)
	if much%always == 0 {
		from, until = now.Add(-4*time.Hour), now.Add(5*time.Hour)
	}
	key := reservationKey(which)
	r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}
	r.Spec = v1alpha1.ReservationSpec{TestBedNames: []string{bed}, From: metav1.NewTime(from), Until: metav1.NewTime(until)}
	return r
}

func (w *world) changeReservation(ctx context.Context, which int, change func(*v1alpha1.Reservation)) {
	for range 50 {
		r := &v1alpha1.Reservation{}
		if err := w.Get(ctx, reservationKey(which), r); err != nil {
			return
		}
		change(r)
		if err := w.Update(ctx, r); err == nil {
			return
		}
	}
}

// release ends all reservations, and aborts the benchmarks that would wait for them.
func (w *world) release(ctx context.Context) {
	for i := range reservations {
		_ = w.Delete(ctx, booked(i, "", 0, time.Now()))
	}
	for i := range benchmarks {
		b := &v1alpha1.Benchmark{}
		err := w.Get(ctx, keyOf(nameOf(i)), b)
		if err == nil && b.Spec.ReservationName != "" && !b.Spec.Abort && !b.Status.Phase.Finished() {
			w.changeBenchmark(ctx, nameOf(i), func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
		}
	}
}

// reserved is a reservation, and the time since which its spec has not changed.
type reserved struct {
	*v1alpha1.Reservation
	since time.Time
}

// known is the time after which an operator must have seen a new reservation, and have ended
// the writes that it had begun before.
const known = 10 * time.Second

func (c *checker) seeReservation(after *v1alpha1.Reservation, gone bool) {
	before := c.reserved[after.Name]
	switch {
	case gone:
		delete(c.reserved, after.Name)
	case before == nil || before.UID != after.UID || before.Generation != after.Generation:
		c.reserved[after.Name] = &reserved{after, time.Now()}
	}
}

// seeLease judges a lease by the clock of the operator that wrote it: what it has leased
// must be over before a reservation begins, or before that ends which it names.
func (c *checker) seeLease(bed *v1alpha1.TestBed) {
	lease := bed.Status.Lease
	spec := c.specs[lease.UID]
	if spec == nil {
		return
	}
	from := lease.AcquireTime.Time
	left := spec.ActiveDeadlineSeconds
	if b := c.last[lease.UID]; b != nil {
		left -= b.Status.ActiveSeconds
	}
	until := from.Add(time.Duration(left) * time.Second)
	var all []*reserved
	for _, r := range c.reserved {
		if group(r.Spec.TestBedNames[0]) == group(bed.Name) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *reserved) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	own := false
	for _, r := range all {
		recent := time.Since(r.since) < known
		if r.Name == spec.ReservationName && r.Spec.TestBedNames[0] == bed.Name {
			// Times in a lease are whole seconds.
			if !recent && (from.Add(time.Second).Before(r.Spec.From.Time) || until.After(r.Spec.Until.Time)) {
				c.violated("benchmark %s got bed %s at %s, and may take until %s: reservation %s is %s", lease.Holder, bed.Name, from, until, r.Name, text(r))
			}
			own = true
			break // Those that were created later do not count.
		}
		if !recent && from.Before(r.Spec.Until.Time) && r.Spec.From.Time.Before(until) {
			c.violated("benchmark %s got bed %s at %s, and may take until %s: reservation %s of bed %s is %s",
				lease.Holder, bed.Name, from, until, r.Name, r.Spec.TestBedNames[0], text(r))
		}
	}
	c.inReserved[own]++
}

func text(r *reserved) string {
	return fmt.Sprintf("from %s until %s", r.Spec.From.UTC(), r.Spec.Until.UTC())
}
