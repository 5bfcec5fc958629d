package kit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// minChecks is the minimum number of checks, spread over its time, of a deadline.
const minChecks = 10

const (
	// storeWait is the time by which a wait grows before it is stored again.
	storeWait = 10 * time.Second
	// storeActive is the same for the time in which a benchmark has its bed.
	storeActive = time.Minute
)

// Timers measures deadlines by the time in which this operator was running: it adds up
// the time between its own checks of an object. Clocks of two operators are never
// compared. What is added up is stored in the object's status from time to time, so
// that the next operator continues from there.
type Timers struct {
	mu sync.Mutex
	of map[types.NamespacedName]*counters
}

// counters of one object. An object waits for one thing at a time.
type counters struct {
	uid types.UID
	// reason with which the wait ends; "" without one.
	reason       string
	wait, active counter
	// lease is the run of which active counts the lease, if the object is a bed.
	lease labobjects.Run
	// phase is the time at which the current phase of the object began; zero if another
	// operator, or this one before its start, has seen that.
	phase time.Time
}

// counter adds up the time between checks.
type counter struct {
	checks int32
	last   time.Time
	total  time.Duration
}

// NewTimers returns timers that have seen nothing.
func NewTimers() *Timers { return &Timers{of: map[types.NamespacedName]*counters{}} }

// check counts one check. It adds the time since the last one, at most limit unless
// that is 0. What another operator has stored counts if it is more.
func (c *counter) check(now time.Time, limit, stored time.Duration) {
	if c.checks > 0 {
		gap := max(now.Sub(c.last), 0)
		if limit > 0 {
			gap = min(gap, limit)
		}
		c.total += gap
	}
	c.total = max(c.total, stored)
	c.last = now
	c.checks++
}

// countersOf returns the counters of an object. The caller holds the lock.
func (t *Timers) countersOf(obj client.Object) *counters {
	key := client.ObjectKeyFromObject(obj)
	c := t.of[key]
	if c == nil || c.uid != obj.GetUID() {
		c = &counters{uid: obj.GetUID()}
		t.of[key] = c
	}
	return c
}

// Overdue counts one more unsuccessful check of a wait that ends with a reason, and reports
// whether operators have waited for as long as limit. It keeps the status up to date.
func (t *Timers) Overdue(obj client.Object, status **v1alpha1.Wait, reason string, now time.Time, limit time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.countersOf(obj)
	if c.reason != reason {
		c.reason, c.wait = reason, counter{}
	}
	stored := v1alpha1.Wait{Reason: reason}
	if *status != nil && (*status).Reason == reason {
		stored = **status
	} else {
		*status = nil
	}
	before := Seconds(stored.Seconds)
	c.wait.check(now, limit/minChecks, before)
	c.wait.checks = max(c.wait.checks, stored.Attempts+1)
	late := c.wait.total >= limit
	if late || c.wait.total-before >= storeWait {
		*status = &v1alpha1.Wait{Reason: reason, Attempts: c.wait.checks, Seconds: int64(c.wait.total / time.Second)}
	}
	return late
}

// Over ends the wait of an object, if there is one.
func (t *Timers) Over(obj client.Object, status **v1alpha1.Wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*status = nil
	if c := t.of[client.ObjectKeyFromObject(obj)]; c != nil {
		c.reason, c.wait = "", counter{}
	}
}

// Active returns for how long operators have seen a benchmark hold its bed. The time in
// which a benchmark that was preempted waits for the next bed does not count.
func (t *Timers) Active(b *v1alpha1.Benchmark, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.countersOf(b).active
	if b.Status.TestBedName == "" {
		*c = counter{}
		return Seconds(b.Status.ActiveSeconds)
	}
	return c.store(now, &b.Status.ActiveSeconds)
}

// store counts up to now, keeps the seconds that are stored up to date, and returns the time.
func (c *counter) store(now time.Time, stored *int64) time.Duration {
	before := Seconds(*stored)
	c.check(now, 0, before)
	if c.total-before >= storeActive {
		*stored = int64(c.total / time.Second)
	}
	return c.total
}

// Leased returns for how long operators have seen the present lease of a bed, and keeps the lease
// up to date.
func (t *Timers) Leased(bed *v1alpha1.TestBed, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, lease := t.countersOf(bed), bed.Status.Lease
	if run := RunOf(lease); c.lease != run {
		c.lease, c.active = run, counter{}
	}
	return c.active.store(now, &lease.ActiveSeconds)
}

// enter notes that an object is in another phase from now on, and returns since when it was
// in the one before; zero when that is not known.
func (t *Timers) enter(obj client.Object, now time.Time) (since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.countersOf(obj)
	since, c.phase = c.phase, now
	return since
}

// Forget drops the counters of an object that is finished or gone.
func (t *Timers) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, key)
}

// Seconds returns the duration of a number of seconds.
func Seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
