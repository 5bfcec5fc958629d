package labpage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// fresh is the minimum time for which a snapshot serves requests. A snapshot that took longer
// to make serves for share times that duration, so that the page of a large lab does not
// occupy a processor.
const (
	fresh = time.Second
	share = 5
)

// bearable is the age up to which a snapshot is served while the next one is made, so that no request waits for it: pages that
// update themselves come at shorter intervals.
const bearable = 30 * time.Second

// snapshot is the lab at one time, of which each person sees a part. Its objects belong to
// the caches and are only read.
type snapshot struct {
	at time.Time
	// took is the time that it took to make the snapshot.
	took         time.Duration
	beds         []v1alpha1.TestBed // by name, see compareNaturally
	reservations []v1alpha1.Reservation
	schedules    []v1alpha1.BenchmarkSchedule
	benchmarks   []v1alpha1.Benchmark
	// waiting are benchmarks without a bed in the order of the queue, running those with
	// one by the time at which they got it, finished the newest first.
	waiting, running, finished []*v1alpha1.Benchmark
	byKey                      map[types.NamespacedName]*v1alpha1.Benchmark
	// waits has what is known of those that wait.
	waits map[*v1alpha1.Benchmark]queue.Waiting
	// uses is the time for which each namespace had each bed in the last week, by bed.
	uses map[string]map[string]time.Duration
	// policy is the LabPolicy; nil without one.
	policy *v1alpha1.LabPolicy
	// namespaces that have an object, sorted.
	namespaces []string
}

// snapshots takes snapshots of the lab, and keeps the last one for a moment.
type snapshots struct {
	reader client.Reader
	wait   func(ctx context.Context, beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) ([]queue.Waiting, error)
	now    func() time.Time

	// last is the snapshot that is served.
	last atomic.Pointer[snapshot]
	// making is held while a snapshot is made.
	making sync.Mutex
}

// snapshot returns the lab as it was a moment ago: see fresh and bearable.
func (l *snapshots) snapshot(ctx context.Context) (*snapshot, error) {
	now := l.now()
	if s := l.last.Load(); s.isYounger(now, fresh) {
		return s, nil
	} else if s.isYounger(now, bearable) {
		if l.making.TryLock() {
			go func() {
				defer l.making.Unlock()
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
				defer cancel()
				_, _ = l.make(ctx) // A request that finds no bearable snapshot gets the error.
			}()
		}
		return s, nil
	}
	return l.current(ctx)
}

// current returns a fresh snapshot, and waits for it.
func (l *snapshots) current(ctx context.Context) (*snapshot, error) {
	l.making.Lock()
	defer l.making.Unlock()
	if s := l.last.Load(); s.isYounger(l.now(), fresh) {
		return s, nil // Another request made it.
	}
	return l.make(ctx)
}

// isYounger reports whether a snapshot is younger than an age, or than share times as long as it took.
func (s *snapshot) isYounger(now time.Time, age time.Duration) bool {
	return s != nil && now.Sub(s.at) < max(age, share*s.took) && !now.Before(s.at)
}

// make takes a snapshot that is served from then on.
func (l *snapshots) make(ctx context.Context) (*snapshot, error) {
	begun := time.Now()
	s, err := l.read(ctx, l.now())
	if err != nil {
		return nil, err
	}
	s.took = time.Since(begun)
	l.last.Store(s)
	return s, nil
}

// read takes a snapshot from the caches.
func (l *snapshots) read(ctx context.Context, now time.Time) (*snapshot, error) {
	var beds v1alpha1.TestBedList
	var benchmarks v1alpha1.BenchmarkList
	var reservations v1alpha1.ReservationList
	var schedules v1alpha1.BenchmarkScheduleList
	var policies v1alpha1.LabPolicyList
	for _, list := range []client.ObjectList{&beds, &benchmarks, &reservations, &schedules, &policies} {
		if err := l.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	s := &snapshot{
		at: now, beds: beds.Items, reservations: reservations.Items, schedules: schedules.Items, benchmarks: benchmarks.Items,
		byKey: make(map[types.NamespacedName]*v1alpha1.Benchmark, len(benchmarks.Items)),
	}
	s.uses = usesOf(s.beds, s.benchmarks, now)
	for i := range policies.Items {
		if policies.Items[i].Name == v1alpha1.LabPolicyName {
			s.policy = &policies.Items[i]
		}
	}
	namespaces := map[string]bool{}
	for i := range s.benchmarks {
		b := &s.benchmarks[i]
		namespaces[b.Namespace] = true
		s.byKey[client.ObjectKeyFromObject(b)] = b
		switch {
		case b.Status.Phase.Finished():
			s.finished = append(s.finished, b)
		case b.Status.TestBedName != "":
			s.running = append(s.running, b)
		}
	}
	waiting, err := l.wait(ctx, s.beds, s.benchmarks)
	if err != nil {
		return nil, fmt.Errorf("ordering the queue: %w", err)
	}
	s.waits = make(map[*v1alpha1.Benchmark]queue.Waiting, len(waiting))
	for _, w := range waiting {
		s.waiting = append(s.waiting, w.Benchmark)
		s.waits[w.Benchmark] = w
	}
	for i := range s.reservations {
		namespaces[s.reservations[i].Namespace] = true
	}
	for i := range s.schedules {
		namespaces[s.schedules[i].Namespace] = true
	}
	for name := range namespaces {
		s.namespaces = append(s.namespaces, name)
	}
	slices.Sort(s.namespaces)
	slices.SortFunc(s.beds, func(a, b v1alpha1.TestBed) int { return compareNaturally(a.Name, b.Name) })
	slices.SortFunc(s.running, func(a, b *v1alpha1.Benchmark) int {
		return cmp.Or(begin(a).Compare(begin(b)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.finished, func(a, b *v1alpha1.Benchmark) int {
		return cmp.Or(end(b).Compare(end(a)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.reservations, func(a, b v1alpha1.Reservation) int {
		return cmp.Or(occurrence(&a).From.Compare(occurrence(&b).From.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.schedules, func(a, b v1alpha1.BenchmarkSchedule) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return s, nil
}

// begin returns the time at which a benchmark got its first bed; zero before that.
func begin(b *v1alpha1.Benchmark) time.Time {
	if b.Status.StartTime == nil {
		return time.Time{}
	}
	return b.Status.StartTime.Time
}

// lastBegin returns the time at which a benchmark got its latest bed.
func lastBegin(b *v1alpha1.Benchmark) time.Time {
	if b.Status.LeaseTime != nil {
		return b.Status.LeaseTime.Time
	}
	return begin(b)
}

// end returns the time at which a benchmark finished; zero before that.
func end(b *v1alpha1.Benchmark) time.Time {
	if b.Status.CompletionTime == nil {
		return time.Time{}
	}
	return b.Status.CompletionTime.Time
}

// occurrence returns the current occurrence from the status of a reservation, or else the
// first one from its spec.
func occurrence(r *v1alpha1.Reservation) v1alpha1.ReservedTime {
	if r.Status.Occurrence != nil {
		return *r.Status.Occurrence
	}
	return v1alpha1.ReservedTime{From: r.Spec.From, Until: r.Spec.Until}
}

func (s *snapshot) bed(name string) *v1alpha1.TestBed {
	i, found := slices.BinarySearchFunc(s.beds, name, func(b v1alpha1.TestBed, name string) int { return compareNaturally(b.Name, name) })
	if !found {
		return nil
	}
	return &s.beds[i]
}
