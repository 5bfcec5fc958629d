package allocation

import (
	"slices"
	"strings"
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

// A deep queue does not delay the first message of a benchmark that preempts others, and those
// that preempt have theirs in the order in which they came, also when they came at once.
func TestPreemptingBenchmarksHaveTheirMessagesFirst(t *testing.T) {
	v := newView(kit.Options{Now: time.Now, Deadlines: kit.DefaultDeadlines()})
	ch := newChanges()
	ch.policy(&v1alpha1.LabPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName},
		Spec:       v1alpha1.LabPolicySpec{PriorityClasses: []v1alpha1.PriorityClass{{Name: "urgent", Value: 400, Preempts: true}}},
	}, false)
	ch.namespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, false)
	v.apply(ch, time.Now())
	created := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	come := func(names ...string) {
		ch := newChanges()
		for i, name := range names {
			b := objects.Benchmark("team", name)
			b.CreationTimestamp = metav1.NewTime(created.Add(time.Duration(i) * time.Second))
			if strings.HasPrefix(name, "urgent") {
				b.Spec.PriorityClassName = "urgent"
			}
			ch.benchmark(b, false)
		}
		v.apply(ch, time.Now())
	}
	come("a")
	come("b")
	come("urgent-4", "urgent-2", "urgent-3", "urgent-1")
	come("urgent-0")
	come("c")
	var got []string
	for key, some := v.agenda.nextNews(); some; key, some = v.agenda.nextNews() {
		got = append(got, key.Name)
	}
	if want := []string{"urgent-4", "urgent-2", "urgent-3", "urgent-1", "urgent-0", "a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("messages in the order %v, want %v", got, want)
	}
}

// The order of the queue depends on how long benchmarks take, which becomes known when the first of them ends.
func TestEntriesLearnHowLongTheyTake(t *testing.T) {
	l := newOutlookLab(simulatedBed("sim"))
	l.has("first", "sim", 16)
	l.benchmark("waits", "sim")
	v, _ := viewOf(l.LineupInput, nil)
	expected := func() time.Duration {
		entries := v.line.queue.Entries()
		if len(entries) != 1 {
			t.Fatalf("%d entries in the queue, want one", len(entries))
		}
		return entries[0].Expected
	}
	if d := expected(); d != 0 {
		t.Fatalf("it is expected to take %s, and none has ended", d)
	}
	ended := l.Benchmarks[0].DeepCopy()
	ended.Status.Phase, ended.Status.CompletionTime = v1alpha1.PhaseMeasured, ago(0)
	ch := newChanges()
	ch.benchmark(ended, false)
	v.apply(ch, outlookNow)
	if d := expected(); d != 16*time.Second {
		t.Errorf("it is expected to take %s, want 16s, as the first one", d)
	}
}
