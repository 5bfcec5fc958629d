package kit

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// operatorWatch is one operator that checks a waiting benchmark.
type operatorWatch struct {
	*Timers
	now time.Time
}

// TestTimersCountTimeOfOperatorsThatWereThere checks the deadlines of two operators with
// unrelated clocks.
func TestTimersCountTimeOfOperatorsThatWereThere(t *testing.T) {
	const limit = 2 * time.Minute
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := objects.Benchmark("team", "b", objects.UID("1"))
	operator := func(clock time.Time) *operatorWatch { return &operatorWatch{NewTimers(), clock} }
	// checks lets an operator check n times, and returns at which check the wait was over.
	checks := func(o *operatorWatch, b *v1alpha1.Benchmark, n int, gap time.Duration) int {
		for i := range n {
			if o.Overdue(b, &b.Status.Wait, v1alpha1.ReasonCleanUpFailed, o.now, limit) {
				return i + 1
			}
			o.now = o.now.Add(gap)
		}
		return 0
	}
	for name, tc := range map[string]struct {
		drive func(b *v1alpha1.Benchmark) int
		want  int
	}{
		"one check a second": {func(b *v1alpha1.Benchmark) int {
			return checks(operator(start), b, 200, time.Second)
		}, 121},
		"a busy lab in which a check is due once a minute": {func(b *v1alpha1.Benchmark) int {
			return checks(operator(start), b, minChecks, time.Minute)
		}, 0},
		"an operator that was down for an hour": {func(b *v1alpha1.Benchmark) int {
			return checks(operator(start), b, 5, time.Second) + checks(operator(start.Add(time.Hour)), b, 5, time.Second)
		}, 0},
		"an operator whose clock is ahead": {func(b *v1alpha1.Benchmark) int {
			return checks(operator(start), b, 5, time.Second) + checks(operator(start.AddDate(1, 0, 0)), b, 100, time.Second)
		}, 0},
		"an operator whose clock is behind": {func(b *v1alpha1.Benchmark) int {
			return checks(operator(start), b, 5, time.Second) + checks(operator(start.AddDate(-1, 0, 0)), b, 200, time.Second)
		}, 121},
		"an operator that continues where another one was": {func(b *v1alpha1.Benchmark) int {
			return checks(operator(start), b, 101, time.Second) + checks(operator(start.AddDate(-1, 0, 0)), b, 50, time.Second)
		}, 21},
		"two operators that both believe to lead": {func(b *v1alpha1.Benchmark) int {
			one, other := operator(start), operator(start)
			for i := range 110 {
				if checks(one, b, 1, time.Second)+checks(other, b, 1, time.Second) > 0 {
					return i + 1
				}
			}
			return 0
		}, 0},
		"an operator whose clock jumps once": {func(b *v1alpha1.Benchmark) int {
			o := operator(start)
			first := checks(o, b, 5, time.Second)
			o.now = o.now.Add(24 * time.Hour)
			return first + checks(o, b, 90, time.Second)
		}, 0},
		"a wait that ended, and another one": {func(b *v1alpha1.Benchmark) int {
			o := operator(start)
			first := checks(o, b, 100, time.Second)
			o.Over(b, &b.Status.Wait)
			return first + checks(o, b, 100, time.Second)
		}, 0},
		"another benchmark of the same name": {func(b *v1alpha1.Benchmark) int {
			o := operator(start)
			first := checks(o, b, 100, time.Second)
			again := objects.Benchmark("team", "b", objects.UID("2"))
			return first + checks(o, again, 100, time.Second)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.DeepCopy()
			if got := tc.drive(b); got != tc.want {
				t.Errorf("overdue at check %d, want %d (0 is never); status %+v", got, tc.want, b.Status.Wait)
			}
		})
	}
}

// TestTimersStoreWhatTheyCount bounds how much is lost with an operator, and how
// often the status is written.
func TestTimersStoreWhatTheyCount(t *testing.T) {
	b := objects.Benchmark("team", "b", objects.UID("1"), objects.BenchmarkStatus(v1alpha1.BenchmarkStatus{TestBedName: "sim"}))
	o := NewTimers()
	now := time.Now()
	waits, actives := map[int64]bool{}, map[int64]bool{}
	for range 101 {
		o.Overdue(b, &b.Status.Wait, v1alpha1.ReasonDeviceFailed, now, time.Hour)
		o.Active(b, now)
		if b.Status.Wait != nil {
			waits[b.Status.Wait.Seconds] = true
		}
		actives[b.Status.ActiveSeconds] = true
		now = now.Add(time.Second)
	}
	if b.Status.Wait.Seconds != 100 || b.Status.Wait.Attempts != 101 || len(waits) != 10 {
		t.Errorf("after 100 s the status says %+v, written %d times", b.Status.Wait, len(waits))
	}
	if b.Status.ActiveSeconds != 60 || len(actives) != 2 {
		t.Errorf("after 100 s the status says %d s, written %d times", b.Status.ActiveSeconds, len(actives)-1)
	}
	if got := NewTimers().Active(b, now.Add(time.Hour)); got != time.Minute {
		t.Errorf("the next operator begins at %s, want 1m0s", got)
	}
	o.Forget(client.ObjectKeyFromObject(b))
	if len(o.of) != 0 {
		t.Error("a benchmark that is gone is remembered")
	}
}

// TestTimersCountTheTimeOnBedsOnly has a benchmark wait for its next bed, and be looked at
// meanwhile.
func TestTimersCountTheTimeOnBedsOnly(t *testing.T) {
	b := objects.Benchmark("team", "b", objects.UID("1"))
	timers, now := NewTimers(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, at := range []struct {
		bed          string
		passed, want time.Duration
	}{
		{"sim", 0, 0},
		{"sim", 40 * time.Minute, 40 * time.Minute},
		{"", time.Second, 40 * time.Minute},
		{"", 10 * time.Hour, 40 * time.Minute},
		{"sim", time.Second, 40 * time.Minute},
		{"sim", 10 * time.Minute, 50 * time.Minute},
	} {
		b.Status.TestBedName, now = at.bed, now.Add(at.passed)
		if got := timers.Active(b, now); got != at.want {
			t.Errorf("%s later, on bed %q: %s counted, want %s", at.passed, at.bed, got, at.want)
		}
	}
}
