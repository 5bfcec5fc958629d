package allocation

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// A selector is parsed once for a class of benchmarks, not once for each bed.
func TestSelectorIsParsedOnce(t *testing.T) {
	b := objects.Benchmark("team", "b", objects.BedLabels(map[string]string{"rack": "7"}))
	for i := range 16 {
		values := make([]string, 32)
		for v := range values {
			values[v] = fmt.Sprint("value-", v)
		}
		b.Spec.TestBedSelector.MatchExpressions = append(b.Spec.TestBedSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: fmt.Sprint("e", i), Operator: metav1.LabelSelectorOpIn, Values: values})
	}
	cost := func(beds int) float64 {
		inv := newInventory()
		for i := range beds {
			bed := objects.TestBed(fmt.Sprint("bed-", i), objects.Labels(map[string]string{"rack": "8"}))
			inv.beds[bed.Name] = &bedView{bed: bed}
		}
		j := &judge{
			classes: map[classKey]*class{}, inventory: inv,
			profiles: map[queue.Key]*v1alpha1.TrafficProfile{{Namespace: "team", Name: b.Spec.TrafficProfileName}: objects.TrafficProfile("team", b.Spec.TrafficProfileName)},
			teams:    &teams{namespaces: map[string]*corev1.Namespace{"team": {ObjectMeta: metav1.ObjectMeta{Name: "team"}}}},
		}
		return testing.AllocsPerRun(10, func() {
			clear(j.classes)
			j.join(&waiter{b: b})
		})
	}
	if one, many := cost(1), cost(64); many > 1.5*one {
		t.Errorf("a benchmark costs %.0f allocations with 64 beds, and %.0f with one", many, one)
	}
}
