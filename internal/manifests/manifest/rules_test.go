package manifest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// TestRulesOfFieldsThatAreThere compares the errors of all samples, good and broken, with the ones of all rules of the schema.
func TestRulesOfFieldsThatAreThere(t *testing.T) {
	whole := map[string]*cel.Validator{}
	files, err := filepath.Glob(filepath.Join(samples, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	texts := func(errs field.ErrorList) []string {
		all := []string{}
		for _, err := range errs {
			all = append(all, err.Error())
		}
		slices.Sort(all)
		return all
	}
	compared, broken := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents, err := parseDocuments(file, text)
		if err != nil {
			continue // Some samples are no YAML.
		}
		for _, d := range documents {
			kind, _ := d.object["kind"].(string)
			s, err := schemaOf(kind)
			if err != nil {
				t.Fatal(err)
			}
			if s == nil {
				continue
			}
			if _, err := s.prune(d.object); err != nil {
				continue
			}
			s.complete(d.object)
			if whole[kind] == nil {
				whole[kind] = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
			}
			want, wantLeft := whole[kind].Validate(context.Background(), nil, s.structural, d.object, nil, celconfig.RuntimeCELCostBudget)
			got, left := s.rules.validate(context.Background(), nil, d.object, celconfig.RuntimeCELCostBudget)
			if diff := cmp.Diff(texts(want), texts(got)); diff != "" || left != wantLeft {
				t.Errorf("%s, %s: left %d of the cost, want %d (-all rules +here):\n%s", file, kind, left, wantLeft, diff)
			}
			compared++
			broken += min(len(got), 1)
		}
	}
	if compared < 200 || broken < 20 {
		t.Errorf("%d objects were compared, %d of them with errors", compared, broken)
	}
}
