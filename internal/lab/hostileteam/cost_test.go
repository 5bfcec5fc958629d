package hostileteam

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"nodrop.dev/nodrop/internal/manifests/manifest"
)

// maxRuleAllocations is the number of allocations that the rules of a kind may cause in the API server when its largest object
// changes, be it in its status. Each of them costs about 0.2 µs.
const maxRuleAllocations = 60_000

// TestCostOfRules bounds what the API server spends on the rules of the largest object of each kind at each write of it. A rule
// that reads a field reads the definitions of all fields next to it, so that rules which compare each test with each other
// test cost more than everything else that a write does.
func TestCostOfRules(t *testing.T) {
	a := &attack{Team: Team{Namespace: "team-hostile", Bed: "bed", Receiver: "https://hooks.example.com"}}
	for _, k := range kinds {
		s, err := manifest.Structural(k.name)
		if err != nil {
			t.Fatal(err)
		}
		rules := cel.NewValidator(s, true, celconfig.PerCallLimit)
		text, err := json.Marshal(k.build(a, "hostile-00000", k.largest))
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]any
		for _, o := range []*map[string]any{&before, &after} {
			if err := json.Unmarshal(text, o); err != nil {
				t.Fatal(err)
			}
			defaulting.Default(*o, s)
		}
		if errs, _ := rules.Validate(t.Context(), nil, s, after, before, celconfig.RuntimeCELCostBudget); len(errs) > 0 {
			t.Fatalf("the largest %s is refused: %v", k.name, errs[0])
		}
		allocations := testing.AllocsPerRun(3, func() {
			rules.Validate(t.Context(), nil, s, after, before, celconfig.RuntimeCELCostBudget)
		})
		t.Logf("%-20s %8.0f allocations", k.name, allocations)
		if allocations > maxRuleAllocations {
			t.Errorf("the rules of the largest %s cause %.0f allocations, more than %d", k.name, allocations, maxRuleAllocations)
		}
	}
}
