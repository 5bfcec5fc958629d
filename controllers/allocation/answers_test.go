package allocation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// judgeOf returns a judge of a lab with a namespace and its profile.
func judgeOf(beds ...*v1alpha1.TestBed) *judge {
	inv := newInventory()
	for _, bed := range beds {
		inv.beds[bed.Name] = &bedView{bed: bed}
	}
	return &judge{
		classes: map[classKey]*class{}, inventory: inv,
		profiles: map[queue.Key]*v1alpha1.TrafficProfile{{Namespace: "team", Name: "ipv4"}: objects.TrafficProfile("team", "ipv4", objects.IPv4Pairs(64, 512))},
		teams:    &teams{namespaces: map[string]*corev1.Namespace{"team": {ObjectMeta: metav1.ObjectMeta{Name: "team"}}}},
	}
}

// simulated returns beds with a rack and this many ports.
func simulated(n, ports int) (beds []*v1alpha1.TestBed) {
	for i := range n {
		bed := objects.TestBed(fmt.Sprintf("bed-%03d", i), objects.Labels(map[string]string{"rack": "7"}), objects.Sim(int32(ports), "10G"), objects.Simulated("m", "k"), objects.Access(v1alpha1.AccessGrant{Names: []string{"team"}, MaxPriority: 100}))
		beds = append(beds, bed)
	}
	return beds
}

func racked(name string, priority int32) *v1alpha1.Benchmark {
	b := objects.Benchmark("team", name, objects.BedLabels(map[string]string{"rack": "7"}), objects.ProfileName("ipv4"), objects.Priority(priority))
	b.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
	return b
}

// TestAnswersAreShared checks that tests are judged once with beds and benchmarks that are alike, and again with each that is not.
func TestAnswersAreShared(t *testing.T) {
	beds := simulated(64, 2)
	j := judgeOf(beds...)
	for i := range int32(5) {
		w := &waiter{b: racked("b", i)}
		j.join(w)
		if n := len(w.class.beds); n != len(beds) {
			t.Fatalf("%d of %d beds fit: %s", n, len(beds), j.problemOf(w.class))
		}
	}
	if n := len(j.answers); len(j.classes) != 5 || n != 1 {
		t.Errorf("%d answers for %d classes that differ in their priority, on beds that are alike; want 1", n, len(j.classes))
	}
	// A bed without a second port differs, and fits no pairs.
	one := simulated(1, 1)[0]
	one.Name = "one-port"
	j.inventory.beds[one.Name] = &bedView{bed: one}
	clear(j.classes)
	w := &waiter{b: racked("b", 0)}
	j.join(w)
	if n := len(j.answers); n != 2 || len(w.class.beds) != len(beds) {
		t.Errorf("%d answers with a bed of one port, and %d beds fit; want 2 and %d", n, len(w.class.beds), len(beds))
	}
	// Another grant changes no answer, and is judged.
	refused := simulated(1, 2)[0]
	refused.Name, refused.Spec.Access[0].MaxPriority = "refuses", -1
	j.inventory.beds[refused.Name] = &bedView{bed: refused}
	clear(j.classes)
	w = &waiter{b: racked("b", 0)}
	if j.join(w); len(j.answers) != 2 || len(w.class.beds) != len(beds) {
		t.Errorf("%d answers with a bed that has no grant, and %d beds fit; want 2 and %d", len(j.answers), len(w.class.beds), len(beds))
	}
}

// TestProblemCost checks that the reason why no bed fits costs about as much with many beds as with few.
func TestProblemCost(t *testing.T) {
	cost := func(beds int) float64 {
		j := judgeOf(simulated(beds, 1)...)
		w := &waiter{b: racked("b", 0)}
		j.join(w)
		if got := j.problemOf(w.class); !strings.Contains(got, "TestBed/bed-000") {
			t.Fatalf("the problem %q does not name the first bed", got)
		}
		return testing.AllocsPerRun(5, func() {
			w.class.problem = ""
			j.problemOf(w.class)
		})
	}
	if few, many := cost(4), cost(256); many > 2*few {
		t.Errorf("the reason costs %.0f allocations with 4 beds, and %.0f with 256", few, many)
	}
}
