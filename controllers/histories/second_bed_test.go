package histories

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// secondBed is a bed that another operator leased for an attempt that has one already. The lock of a bed cannot prevent that; the
// benchmark uses only the bed in its status, and the controller of beds removes the lease of the other one.
type secondBed struct {
	name string
	// edits is the number of edits of the bed when it was leased.
	edits int
}

// lead counts the operators that lead at once.
func (c *checker) lead(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaders += more
	c.twoLed = c.twoLed || c.leaders > 1
}

// rivals reports whether two operators lead. Only then may a second bed be leased for the attempt that gets one now: an operator
// that starts later knows the lease, and one that leads alone remembers it.
func (c *checker) rivals() bool { return c.leaders > 1 || c.behind && c.twoLed }

// hasOther reports whether the attempt that a bed is leased for has another bed.
func (c *checker) hasOther(bed string, lease v1alpha1.BedLease) bool {
	other := c.beds[lease.UID]
	return other != "" && other != bed && lease.Attempt == c.attempts[lease.UID]
}

// seeSecondBed judges the lease of another bed for an attempt that has one. The caller holds the lock.
func (c *checker) seeSecondBed(bed string, lease v1alpha1.BedLease) {
	of := attemptName(lease.UID, lease.Attempt)
	known := c.second[of]
	if known != nil && known.name == bed {
		return
	}
	if known != nil || !c.contended[of] {
		c.violated("benchmark %s has beds %s and %s", lease.UID, c.beds[lease.UID], bed)
		return
	}
	c.second[of] = &secondBed{bed, c.edits[bed]}
	c.seeChoice(lease.UID)
}

// seeChoice takes over which of two beds a benchmark uses: the one in its status. The caller holds the lock.
func (c *checker) seeChoice(uid string) {
	b := c.last[uid]
	if b == nil {
		return
	}
	second := c.second[attemptName(uid, b.Status.Attempt)]
	if second == nil || second.name != b.Status.TestBedName || c.attempts[uid] != b.Status.Attempt {
		return
	}
	c.beds[uid], second.name = second.name, c.beds[uid]
	c.editsAt[uid], second.edits = second.edits, c.editsAt[uid]
}

// seeSecondReturned judges that a bed that an attempt had in addition is returned as it was. The caller holds the lock.
func (c *checker) seeSecondReturned(bed string, lease v1alpha1.BedLease) {
	of := attemptName(lease.UID, lease.Attempt)
	if second := c.second[of]; second == nil || second.name != bed {
		return
	}
	delete(c.second, of)
	if bed == managedBed && c.device != baseText {
		c.violated("second bed %s of %s was given back while its device has %q", bed, lease.UID, c.device)
	}
	c.seeNodeReturned(bed, lease.UID)
}

// seePodOfTwo judges that a run with two beds starts nothing before its status contains one of them. The caller holds the lock.
func (c *checker) seePodOfTwo(pod *corev1.Pod) {
	uid := pod.Labels[labobjects.LabelUID]
	attempt := labobjects.AttemptOf(pod.Labels)
	b := c.last[uid]
	if c.behind || b == nil || b.Status.Attempt != attempt || c.second[attemptName(uid, attempt)] == nil {
		return
	}
	if b.Status.TestBedName == "" {
		c.violated("pod %s was made while %s has two beds, and none in its status", pod.Name, uid)
	}
}

// TestSecondBedIsReturned has another operator that leases a second bed for a benchmark that just got one: the benchmark measures on the
// bed in its status, and the other bed becomes free unused, while the benchmark still measures. Without another operator this is a violation.
func TestSecondBedIsReturned(t *testing.T) {
	for _, others := range []int{0, 1} {
		inLab(t, 1, func(ctx context.Context, w *world) {
			w.check.lead(others)
			w.lab.runners.silence(24 * time.Hour) // The benchmark does not end by itself.
			_ = w.Create(ctx, benchmark("b", "frr1", 0))
			w.until(ctx, t, "b has its bed", time.Minute, func() bool { return w.bedInStatus(ctx, "b") == "frr1" })
			w.leaseToo(ctx, t, managedBed, w.leaseOf(ctx, "frr1"))
			if others == 0 {
				if wrong := w.check.violations(); !slices.ContainsFunc(wrong, func(v string) bool { return strings.Contains(v, "has beds frr1 and leaf") }) {
					t.Errorf("one operator leased two beds: %q", wrong)
				}
				return
			}
			w.until(ctx, t, "the second bed is free", 2*time.Minute, func() bool { return w.leaseOf(ctx, managedBed) == nil })
			w.until(ctx, t, "b measures", 2*time.Minute, func() bool { return w.phaseOf(ctx, "b") == v1alpha1.PhaseRunning })
			if w.leaseOf(ctx, "frr1") == nil {
				t.Error("the bed in the status of b is free, too")
			}
			if wrong := w.check.violations(); len(wrong) > 0 {
				t.Error(strings.Join(wrong, "; "))
			}
		})
	}
}

// TestSecondBedIsJudged shows a checker two beds of an attempt, and what may not happen then.
func TestSecondBedIsJudged(t *testing.T) {
	for name, tc := range map[string]struct {
		happen func(*checker)
		want   string
	}{
		"the bed in the status is used": {func(c *checker) { c.seeBenchmark(holding("leaf")); c.seePod(podOf(), false) }, ""},
		"a pod before the status":       {func(c *checker) { c.seePod(podOf(), false) }, "was made while u has two beds"},
		"a third bed":                   {func(c *checker) { c.seeBed(leasedTo("sim", ""), leasedTo("sim", "u")) }, "has beds frr1 and sim"},
		"the other bed with its device": {func(c *checker) { c.device = aclText; c.seeBed(leasedTo("leaf", "u"), leasedTo("leaf", "")) }, "given back while its device has"},
		"the other bed as it was":       {func(c *checker) { c.seeBed(leasedTo("leaf", "u"), leasedTo("leaf", "")) }, ""},
		"another benchmark after it":    {func(c *checker) { c.seeBed(leasedTo("leaf", "u"), leasedTo("leaf", "v")) }, "without being free"},
		"a pod on the bed that it left": {func(c *checker) {
			c.seeBenchmark(holding("leaf"))
			c.seePod(podOf(), false)
			c.seeBed(leasedTo("leaf", "u"), leasedTo("leaf", ""))
		}, "was given back while pod"},
		"a pod, and the unused bed is free": {func(c *checker) {
			c.seeBenchmark(holding("leaf"))
			c.seePod(podOf(), false)
			c.seeBed(leasedTo("frr1", "u"), leasedTo("frr1", ""))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChecker()
			c.lead(2)
			c.seeBenchmark(holding(""))
			c.seeBed(leasedTo("frr1", ""), leasedTo("frr1", "u"))
			c.lead(-1) // The late one knew no lease, and ends.
			c.seeBed(leasedTo("leaf", ""), leasedTo("leaf", "u"))
			if wrong := c.violations(); len(wrong) > 0 {
				t.Fatalf("two leases: %q", wrong)
			}
			tc.happen(c)
			wrong := strings.Join(c.violations(), "; ")
			if !strings.Contains(wrong, tc.want) || tc.want == "" && wrong != "" {
				t.Errorf("%q, want %q", wrong, tc.want)
			}
		})
	}
}

// holding is a benchmark with a bed in its status.
func holding(bed string) *v1alpha1.Benchmark {
	return &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "u"}, Status: v1alpha1.BenchmarkStatus{TestBedName: bed}}
}

// leasedTo is a bed with a lease for the first attempt of a benchmark; without a lease for "".
func leasedTo(bed, uid string) *v1alpha1.TestBed {
	b := &v1alpha1.TestBed{ObjectMeta: metav1.ObjectMeta{Name: bed, UID: types.UID(bed)}}
	if uid != "" {
		b.Status.Lease = &v1alpha1.BedLease{UID: uid}
	}
	return b
}

func podOf() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nd-u-agent-0", Labels: map[string]string{labobjects.LabelUID: "u", labobjects.LabelRole: labobjects.RoleAgent}}}
}

func (w *world) bedInStatus(ctx context.Context, name string) string {
	b := &v1alpha1.Benchmark{}
	_ = w.Get(ctx, keyOf(name), b)
	return b.Status.TestBedName
}

func (w *world) leaseOf(ctx context.Context, bed string) *v1alpha1.BedLease {
	b := &v1alpha1.TestBed{}
	if err := w.Get(ctx, types.NamespacedName{Name: bed}, b); err != nil {
		return nil
	}
	return b.Status.Lease
}

// leaseToo writes a lease that another bed has to a bed, as a rival operator does that has read its latest version.
func (w *world) leaseToo(ctx context.Context, t *testing.T, bed string, lease *v1alpha1.BedLease) {
	t.Helper()
	var err error
	for range 50 {
		b := &v1alpha1.TestBed{}
		if err = w.Get(ctx, types.NamespacedName{Name: bed}, b); err != nil {
			continue
		}
		b.Status.Lease = lease
		if err = w.Status().Update(ctx, b); err == nil {
			return
		}
	}
	t.Fatal(err)
}
