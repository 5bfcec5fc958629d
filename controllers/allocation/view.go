package allocation

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/internal/reservation"
)

// waiter is the allocator's view of one benchmark that is not finished.
type waiter struct {
	// b is the latest version of the benchmark; it is only read.
	b *v1alpha1.Benchmark
	// class is the class with which the benchmark is judged; nil unless it waits.
	class *class
	// granting reports whether a lease is being written.
	granting bool
	// retry is the time after which a grant that failed other than by a conflict may be tried
	// again.
	retry    time.Time
	failures int
	// expected is the time for which a benchmark that has a bed is expected to have it.
	expected time.Duration
	shown    shownAt
	// promise is the estimated start that is being written; zero where none is.
	promise time.Time
}

// bedView is the allocator's view of one bed.
type bedView struct {
	// bed is the latest version: of the cache, or the answer to an own write. It is
	// only read.
	bed *v1alpha1.TestBed
	// granting is the benchmark whose lease is being written; nil when none is.
	granting *queue.Key
	// retry is the time after which the bed may be leased after a failed write.
	retry time.Time
	// conflicts are the names of beds that share an interface.
	conflicts []string
	// used is the time for which benchmarks had the bed, up to usedSince. UsedSince is the
	// time since which a benchmark has it again; zero while none has it.
	used      time.Duration
	usedSince time.Time
	// reserved are the times in which the bed is kept for reservations.
	reserved []queue.Slice
	// preempting reports whether the bed is about to be taken from its holder.
	preempting bool
	shown      shownAt
}

// apply brings the view up to date.
func (a *Allocator) apply(ch changes, now time.Time) {
	for name, ns := range ch.namespaces {
		a.applyNamespace(name, ns)
	}
	for key, p := range ch.profiles {
		a.applyProfile(key, p)
	}
	moved := false
	for name, bed := range ch.beds {
		moved = a.applyBed(name, bed) || moved
	}
	if moved {
		a.findConflicts()
	}
	for name, p := range ch.policies {
		a.applyPolicy(name, p)
	}
	for _, b := range ch.ended {
		a.past.learn(b, a.Now())
		a.endInGang(b)
	}
	for key, r := range ch.reservations {
		a.applyReservation(key, r)
	}
	for key, b := range ch.benchmarks {
		a.applyBenchmark(key, b)
	}
	for _, settle := range ch.written {
		settle(now)
	}
	if len(ch.benchmarks)+len(ch.beds)+len(ch.profiles)+len(ch.namespaces)+len(ch.policies)+len(ch.written) > 0 {
		a.shown.stale = true
	}
}

// applyBed takes over a version of a bed, and reports whether its interfaces may have changed.
func (a *Allocator) applyBed(name string, bed *v1alpha1.TestBed) (moved bool) {
	view := a.beds[name]
	if bed == nil {
		a.calendar.stale = true
		if view != nil {
			a.setHolder(view.bed, nil)
			delete(a.beds, name)
			a.judgeBed(name, nil)
		}
		return true
	}
	if view == nil {
		view = &bedView{}
		a.beds[name] = view
	} else if view.bed.UID == bed.UID && older(bed, view.bed) {
		return false
	}
	before := view.bed
	view.bed = bed
	a.setHolder(before, bed)
	if before == nil || before.UID != bed.UID || before.Generation != bed.Generation || !equality.Semantic.DeepEqual(before.Labels, bed.Labels) {
		a.judgeBed(name, bed)
		a.calendar.stale = true
		return true
	}
	return false
}

// applyWritten takes over the answer to an own write. A bed that was deleted since stays away,
// also where another one has its name by now.
func (a *Allocator) applyWritten(bed *v1alpha1.TestBed) {
	if view := a.beds[bed.Name]; view != nil && view.bed.UID == bed.UID {
		a.applyBed(bed.Name, bed)
	}
}

// older reports whether a version of an object is older than another one.
func older(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}

// setHolder records the holder of a bed, and places the benchmarks again that lost or
// got it.
func (a *Allocator) setHolder(before, after *v1alpha1.TestBed) {
	was, is := kit.LeaseOf(before), kit.LeaseOf(after)
	if was != nil && is != nil && was.UID == is.UID {
		return
	}
	if was != nil && a.holders[was.UID] == before.Name {
		delete(a.holders, was.UID)
		a.placeHolder(was)
	}
	if is != nil {
		a.holders[is.UID] = after.Name
		a.placeHolder(is)
	}
}

func (a *Allocator) placeHolder(l *v1alpha1.BedLease) {
	namespace, name, _ := strings.Cut(l.Holder, "/")
	if w := a.benchmarks[queue.Key{Namespace: namespace, Name: name}]; w != nil {
		a.place(w)
	}
}

// findConflicts finds the beds that share an interface.
func (a *Allocator) findConflicts() {
	beds := make(map[string]*v1alpha1.TestBed, len(a.beds))
	for name, view := range a.beds {
		beds[name] = view.bed
	}
	shared := reservation.Sharing(beds)
	for name, view := range a.beds {
		view.conflicts = shared[name]
	}
}

// applyBenchmark takes over a version of a benchmark; nil when it is gone or finished.
func (a *Allocator) applyBenchmark(key queue.Key, b *v1alpha1.Benchmark) {
	w := a.benchmarks[key]
	if b == nil {
		if w != nil {
			a.leaveClass(w)
			a.queue.Remove(key)
			delete(a.benchmarks, key)
			a.leaveGang(w)
		}
		return
	}
	switch {
	case w == nil:
		w = &waiter{b: b}
		a.benchmarks[key] = w
		a.shown.news = append(a.shown.news, key)
	case w.b.UID != b.UID:
		a.leaveClass(w)
		a.leaveGang(w)
		*w = waiter{b: b, granting: w.granting}
	case older(b, w.b):
		return
	}
	w.b = b
	a.joinGang(w)
	if !kit.Waits(b) || kit.IsHeld(b) {
		a.leaveClass(w)
	} else if w.class == nil {
		a.joinClass(w)
	}
	a.place(w)
}

// place puts a benchmark into the queue, or takes it out, and does so with the members of its
// gang.
func (a *Allocator) place(w *waiter) {
	a.placeOne(w)
	if w.b.Spec.Gang == nil {
		return
	}
	for _, other := range a.gangNamed(gangOf(w.b)).members {
		if other != w {
			a.placeOne(other)
		}
	}
}

func (a *Allocator) placeOne(w *waiter) {
	key := queueKey(w.b)
	if _, holds := a.holders[string(w.b.UID)]; w.class == nil || len(kit.BedsFor(w.b, w.class.beds)) == 0 || w.granting || holds || !w.retry.IsZero() {
		a.queue.Remove(key)
		return
	}
	e := queue.EntryOf(a.policy, a.namespaces, w.b)
	e.Beds, e.Limits, e.Pools = kit.BedsFor(w.b, w.class.beds), w.class.limits, w.class.pools
	e.Reservation, e.Hold, e.Expected = kit.ReservationOf(w.b), a.Deadlines.HoldOf(w.b), a.expected(w)
	if !a.inGang(w, &e) {
		a.queue.Remove(key)
		return
	}
	a.queue.Set(e)
}

// snapshot returns the state on which the queue decides.
func (a *Allocator) snapshot(now time.Time) queue.Snapshot {
	s := queue.Snapshot{Beds: make(map[string]queue.Bed, len(a.beds)), Running: map[string]int{}, Now: a.Now(), Aging: a.aging()}
	for name, view := range a.beds {
		s.Beds[name] = queue.Bed{
			Name: name, Open: kit.IsOpen(view.bed), Conflicts: view.conflicts, Reserved: view.reserved,
			Leased: view.bed.Status.Lease != nil || view.granting != nil || view.retry.After(now),
			Pool:   a.poolOf(view.bed), Lease: a.preemptable(view), Promised: a.promises[name],
		}
		a.countRunning(s.Running, view)
	}
	a.stand(&s)
	return s
}

// holder returns the key of the benchmark that has a bed or is about to have it; zero without
// one.
func (v *bedView) holder() queue.Key {
	switch l := v.bed.Status.Lease; {
	case v.granting != nil:
		return *v.granting
	case l != nil:
		namespace, name, _ := strings.Cut(l.Holder, "/")
		return queue.Key{Namespace: namespace, Name: name}
	}
	return queue.Key{}
}

// countRunning counts the holder of a bed under the limits that it has there.
func (a *Allocator) countRunning(running map[string]int, view *bedView) {
	key := view.holder()
	w, ns := a.benchmarks[key], a.namespaces[key.Namespace]
	if w == nil || ns == nil {
		return
	}
	for _, l := range a.limits(view.bed, ns, w.b) {
		running[l.Key]++
	}
}

// retryAfter returns when a write that failed is due again, and ends the waits that
// are over.
func (a *Allocator) retryAfter(now time.Time) time.Duration {
	next := time.Hour
	for _, view := range a.beds {
		if d := view.retry.Sub(now); d > 0 {
			next = min(next, d)
		}
	}
	for key := range a.writes.failed {
		w := a.benchmarks[key]
		if w == nil || w.retry.IsZero() {
			delete(a.writes.failed, key)
			continue
		}
		if d := w.retry.Sub(now); d > 0 {
			next = min(next, d)
			continue
		}
		delete(a.writes.failed, key)
		w.retry = time.Time{}
		a.place(w)
		next = 0
	}
	return max(next, time.Millisecond)
}
