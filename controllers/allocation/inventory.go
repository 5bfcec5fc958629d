package allocation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// inventory contains the beds and the benchmarks that are not finished, and which benchmark has
// which bed.
type inventory struct {
	beds       map[string]*bedView
	benchmarks map[queue.Key]*waiter
	// holders are the beds by the UID of the benchmark that has them.
	holders map[string]string
	// byName are copies of the beds by their names; nil until they are needed.
	byName []v1alpha1.TestBed
}

func newInventory() *inventory {
	return &inventory{beds: map[string]*bedView{}, benchmarks: map[queue.Key]*waiter{}, holders: map[string]string{}}
}

// waiter is the allocator's view of one benchmark that is not finished.
type waiter struct {
	// b is the latest version of the benchmark; it is only read.
	b *v1alpha1.Benchmark

	// Set by inventory.

	// leased is the last attempt for which a bed was leased, as far as this operator knows; nil
	// without one.
	leased *int32

	// Set by judge and ended.

	// class is the class with which the benchmark is judged; nil unless it waits.
	class *class
	// expected is the time for which a benchmark that has a bed is expected to have it.
	expected time.Duration

	// Set by grants.

	// granting reports whether a lease is being written.
	granting bool
	// retry is the time after which a grant that failed other than by a first few conflicts may be
	// tried again.
	retry               time.Time
	failures, conflicts int

	// Set by display.

	shown shownAt
	// deferred reports whether its first message gave way to leases.
	deferred bool
}

// hadBed reports whether a bed was leased for the present attempt.
func (w *waiter) hadBed() bool { return w.leased != nil && *w.leased >= w.b.Status.Attempt }

// bedView is the allocator's view of one bed.
type bedView struct {
	// bed is the latest version: of the cache, or the answer to an own write. It is
	// only read.
	bed *v1alpha1.TestBed
	// conflicts are the names of beds that share an interface.
	conflicts []string
	// kinds has the kinds of the bed kindsFor.
	kinds    kinds
	kindsFor *v1alpha1.TestBed

	// Set by calendar: the times in which the bed is kept for reservations.
	reserved []queue.Slice

	// Set by grants.

	// granting is the benchmark whose lease is being written; nil when none is.
	granting *queue.Key
	// releasing reports whether the present lease is being removed, or was.
	releasing bool
	// retry is the time after which the bed may be leased after a failed write.
	retry time.Time

	// Set by preemption: whether the bed is about to be taken from its holder.
	preempting bool

	// Set by display.
	shown shownAt

	// Set by meter: used is the time for which benchmarks had the bed, up to usedSince. UsedSince
	// is the time since which a benchmark has it again; zero while none has it.
	used      time.Duration
	usedSince time.Time
}

// lease returns the lease of a bed; nil while another one is being written.
func (v *bedView) lease() *v1alpha1.BedLease {
	if v.granting != nil {
		return nil
	}
	return v.bed.Status.Lease
}

// holder returns the key of the benchmark that has a bed or is about to have it; zero without
// one.
func (v *bedView) holder() queue.Key {
	switch l := v.bed.Status.Lease; {
	case v.granting != nil:
		return *v.granting
	case l != nil:
		return keyOf(l.Holder)
	}
	return queue.Key{}
}

// keyOf returns the key that a text of the form namespace/name has.
func keyOf(text string) queue.Key {
	namespace, name, _ := strings.Cut(text, "/")
	return queue.Key{Namespace: namespace, Name: name}
}

// bed returns the bed of a name; nil if it does not exist.
func (inv *inventory) bed(name string) *v1alpha1.TestBed {
	if seen := inv.beds[name]; seen != nil {
		return seen.bed
	}
	return nil
}

// kindsOf returns the kinds of the bed.
func (v *bedView) kindsOf() kinds {
	if v.kindsFor != v.bed {
		v.kinds, v.kindsFor = kindsOf(v.bed), v.bed
	}
	return v.kinds
}

// kindsOf returns the kinds of a bed.
func (inv *inventory) kindsOf(bed *v1alpha1.TestBed) kinds {
	if seen := inv.beds[bed.Name]; seen != nil && seen.bed == bed {
		return seen.kindsOf()
	}
	return kindsOf(bed)
}

// sorted returns all beds in the order of their names.
func (inv *inventory) sorted() []v1alpha1.TestBed {
	if inv.byName == nil {
		for _, name := range slices.Sorted(maps.Keys(inv.beds)) {
			inv.byName = append(inv.byName, *inv.beds[name].bed)
		}
	}
	return inv.byName
}

// allBeds returns all beds by name.
func (inv *inventory) allBeds() map[string]*v1alpha1.TestBed {
	beds := make(map[string]*v1alpha1.TestBed, len(inv.beds))
	for name, seen := range inv.beds {
		beds[name] = seen.bed
	}
	return beds
}

// holds reports whether a benchmark has a bed.
func (inv *inventory) holds(b *v1alpha1.Benchmark) bool {
	_, holds := inv.holders[string(b.UID)]
	return holds
}

// noteLease remembers for which attempt a benchmark has a bed.
func (inv *inventory) noteLease(l *v1alpha1.BedLease) {
	if w := inv.benchmarks[keyOf(l.Holder)]; w != nil && string(w.b.UID) == l.UID {
		w.leased = &l.Attempt
	}
}

// findConflicts finds the beds that share an interface.
func (inv *inventory) findConflicts() {
	shared := reservation.Sharing(inv.allBeds())
	for name, seen := range inv.beds {
		seen.conflicts = shared[name]
	}
}

// older reports whether a version of an object is older than another one.
func older(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
