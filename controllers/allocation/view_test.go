package allocation

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// The answer to a write may come after the bed was deleted, and made again.
func TestADeletedBedStaysAway(t *testing.T) {
	v := newView(kit.Options{Now: time.Now, Deadlines: kit.DefaultDeadlines()})
	bed := func(uid types.UID) *v1alpha1.TestBed {
		return objects.TestBed("frr", objects.UID(uid))
	}
	see := func(ch changes) { v.apply(ch, time.Now()) }
	of := func(change func(*changes)) changes {
		ch := newChanges()
		change(&ch)
		return ch
	}
	see(of(func(c *changes) { c.beds["frr"] = bed("1") }))
	see(of(func(c *changes) {
		c.beds["frr"] = nil
		c.written = append(c.written, func(time.Time) { v.applyWritten(bed("1")) })
	}))
	if len(v.inventory.beds) != 0 {
		t.Error("a deleted bed came back")
	}
	see(of(func(c *changes) {
		c.beds["frr"] = bed("2")
		c.written = append(c.written, func(time.Time) { v.applyWritten(bed("1")) })
	}))
	if got := v.inventory.beds["frr"].bed.UID; got != "2" {
		t.Errorf("bed 2 was replaced by bed %s, which it replaced", got)
	}
}

// A deep queue does not delay the first message of a benchmark that preempts others.
func TestThePreemptingBenchmarkHasItsMessageFirst(t *testing.T) {
	v := newView(kit.Options{Now: time.Now, Deadlines: kit.DefaultDeadlines()})
	ch := newChanges()
	ch.policy(&v1alpha1.LabPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName},
		Spec:       v1alpha1.LabPolicySpec{PriorityClasses: []v1alpha1.PriorityClass{{Name: "urgent", Value: 400, Preempts: true}}},
	}, false)
	ch.namespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, false)
	v.apply(ch, time.Now())
	urgent := objects.Benchmark("team", "urgent")
	urgent.Spec.PriorityClassName = "urgent"
	for _, b := range []*v1alpha1.Benchmark{objects.Benchmark("team", "a"), objects.Benchmark("team", "b"), urgent} {
		ch := newChanges()
		ch.benchmark(b, false)
		v.apply(ch, time.Now())
	}
	if got := v.agenda.news; len(got) != 3 || got[0].Name != "urgent" || got[1].Name != "a" {
		t.Errorf("messages in the order %v", got)
	}
}
