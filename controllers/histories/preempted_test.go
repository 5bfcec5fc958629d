package histories

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// askFor asks for a bed in favor of another benchmark, as the allocator does.
func (w *world) askFor(ctx context.Context, name string) {
	for range 50 {
		bed := &v1alpha1.TestBed{}
		if err := w.Get(ctx, client.ObjectKey{Name: name}, bed); err != nil || bed.Status.Lease == nil {
			return
		}
		bed.Status.Lease.Preemption = &v1alpha1.Preemption{By: team + "/urgent", Time: metav1.NewTime(time.Now())}
		if err := w.Status().Update(ctx, bed); err == nil {
			return
		}
	}
}

func discarded(b *v1alpha1.Benchmark) int32 {
	if b == nil || b.Status.Results == nil {
		return 0
	}
	return b.Status.Results.DiscardedParts
}

// returnsWithoutRows reports whether a benchmark returns its bed before it has finished a row.
func (c *checker) returnsWithoutRows(uid string) bool {
	b := c.last[uid]
	return b != nil && b.Status.Preemptions > 0 && b.Status.Resumption == nil
}

// seePreemption judges the preemptions in a benchmark's status. The caller holds the lock.
func (c *checker) seePreemption(before, after *v1alpha1.Benchmark) {
	uid, name := string(after.UID), after.Name
	begins := before.Status.Preemption == nil && after.Status.Preemption != nil
	switch grown := after.Status.Preemptions - before.Status.Preemptions; {
	case begins && grown != 1, !begins && grown != 0:
		c.violated("benchmark %s: %d preemptions became %d", name, before.Status.Preemptions, after.Status.Preemptions)
	case begins && !after.Spec.Preemptible:
		c.violated("benchmark %s was preempted, and is not preemptible", name)
	}
	if begins {
		c.preempted++
	}
	kept := int32(0)
	if from := after.Status.Resumption; from != nil {
		kept = from.Rows
		if bed := c.beds[uid]; from.TestBedName != bed && !c.behind {
			c.violated("benchmark %s resumes on bed %s, and its rows are of bed %s", name, from.TestBedName, bed)
		}
	}
	if stored := c.stored(uid); begins && int(kept) != len(stored) && !c.behind {
		c.violated("benchmark %s was preempted with rows %v, and says that %d are kept", name, stored, kept)
	}
	if begins && kept > 0 {
		c.resumed++
	}
	if discarded(after) > discarded(before) && c.edits[c.beds[uid]] == c.editsAt[uid] && !c.behind {
		c.violated("benchmark %s begins anew, though bed %s is as it was: %v", name, c.beds[uid], after.Status.EarlierRuns)
	}
}

// awaitRow waits for a while until the benchmark that has a bed has finished a row.
func (w *world) awaitRow(ctx context.Context, name string) {
	for range 40 {
		bed := &v1alpha1.TestBed{}
		if err := w.Get(ctx, client.ObjectKey{Name: name}, bed); err == nil && bed.Status.Lease != nil && w.check.rowsOf(bed.Status.Lease.UID) > 0 {
			return
		}
		time.Sleep(w.unit)
	}
}

func (c *checker) rowsOf(uid string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.stored(uid))
}

// TestPreemptionSurvivesEveryDeath lets the operator die at every write after a bed is asked
// for, once before and once after it is applied: no row is lost, none is measured twice, and
// the benchmark is preempted once.
func TestPreemptionSurvivesEveryDeath(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 5 // Still before and after a write.
	}
	for much := 0; ; much += step {
		script := []event{
			{kind: "benchmark is created", which: 0, much: 1},
			{kind: "bed is asked for", which: 1, much: 2},
			{kind: "operator dies", much: much},
		}
		for range 80 {
			script = append(script, event{wait: 1, kind: "bed is uncordoned"}) // Looks whether the operator is dead.
		}
		o := simulate(t, 1, script)
		if len(o.wrong) > 0 || o.preempted != 1 || o.resumed != 1 {
			t.Errorf("dies at write %d (applied %v): %d preemptions, %d with finished rows: %s",
				1+much/2, much%2 == 1, o.preempted, o.resumed, strings.Join(o.wrong, "; "))
		}
		if o.deaths == 0 {
			if much < 40 {
				t.Errorf("a preemption and what follows took %d writes only", much/2)
			}
			return
		}
	}
}

// TestPreemptionByTwoLeaders lets two operators, of which one is slow, return the bed of the
// same benchmark: the late one leaves the next lease as it is.
func TestPreemptionByTwoLeaders(t *testing.T) {
	script := []event{
		{kind: "benchmark is created", which: 0, much: 1},
		{wait: 6, kind: "bed is asked for", which: 1, much: 1},
		{kind: "second operator", which: 2, much: 20},
	}
	seeds := uint64(100)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		if o := simulate(t, seed, script); len(o.wrong) > 0 || o.preempted != 1 {
			t.Errorf("seed %d: %d preemptions: %s", seed, o.preempted, strings.Join(o.wrong, "; "))
		}
	}
}
