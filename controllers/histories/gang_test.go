package histories

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// gangs is the maximum number of gangs in a history, of two members each.
const gangs = 2

func memberName(gang int, role string) string { return fmt.Sprintf("g%d-%s", gang%gangs, role) }

var roles = []string{"left", "right"}

// member is one of two that are measured at the same time: one on bed sim, and the other on
// any bed.
func member(gang int, role string) *v1alpha1.Benchmark {
	b := benchmark(memberName(gang, role), "sim", 1)
	b.Spec.Gang = &v1alpha1.Gang{Name: fmt.Sprintf("g%d", gang%gangs), Role: role, Members: int32(len(roles))}
	if role == "right" {
		b.Spec.TestBedName, b.Spec.TestBedSelector = "", &metav1.LabelSelector{MatchLabels: anyBed}
	}
	return b
}

// endParts aborts the members of gangs that wait for one that does not come any more.
func (w *world) endParts(ctx context.Context) {
	for gang := range gangs {
		whole := true
		for _, role := range roles {
			b := &v1alpha1.Benchmark{}
			err := w.Get(ctx, client.ObjectKey{Namespace: team, Name: memberName(gang, role)}, b)
			whole = whole && err == nil && !b.Spec.Abort && !b.Status.Phase.Finished()
		}
		for _, role := range roles {
			b := &v1alpha1.Benchmark{}
			err := w.Get(ctx, client.ObjectKey{Namespace: team, Name: memberName(gang, role)}, b)
			if err == nil && !whole && b.Status.TestBedName == "" && !b.Spec.Abort && !b.Status.Phase.Finished() {
				w.changeBenchmark(ctx, b.Name, func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
			}
		}
	}
}

// seeGang judges a member that begins: the others have beds too, or have begun, unless they
// were ended. The caller holds the lock.
func (c *checker) seeGang(before, after *v1alpha1.Benchmark) {
	gang := after.Spec.Gang
	if gang == nil || c.behind || before.Status.TestBedName != "" || after.Status.TestBedName == "" {
		return
	}
	c.begun[string(after.UID)] = true
	there := 1
	for uid, b := range c.last {
		if other := b.Spec.Gang; other == nil || other.Name != gang.Name || other.Role == gang.Role {
			continue
		}
		if c.begun[uid] || c.beds[uid] != "" || b.Spec.Abort || !b.DeletionTimestamp.IsZero() || b.Status.Outcome != "" {
			there++
		}
	}
	if there < int(gang.Members) {
		c.violated("benchmark %s begins, and only %d of the %d members of gang %s have beds", after.Name, there, gang.Members, gang.Name)
	}
	c.inGangs++
}
