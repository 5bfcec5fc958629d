package manifest

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// ReadPolicy reads the default policy of a lab from a file: YAML as in spec.policy of a
// TestBed, checked by the same schema.
func ReadPolicy(file string) (*v1alpha1.TrafficPolicy, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the default policy: %w", err)
	}
	var given map[string]any
	if err := yaml.UnmarshalStrict(text, &given); err != nil {
		return nil, fmt.Errorf("reading the default policy from %s: %w", file, err)
	}
	if given == nil {
		given = map[string]any{}
	}
	kind, err := schemaOf("TestBed")
	if err != nil {
		return nil, err
	}
	// The smallest bed that the schema accepts, with this policy.
	bed := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "TestBed",
		"metadata": map[string]any{"name": "bed"},
		"spec": map[string]any{
			"device": map[string]any{"simulated": map[string]any{"model": map[string]any{"configMapRef": map[string]any{"name": "m", "key": "k"}}}},
			"engine": map[string]any{"kind": "sim", "sim": map[string]any{"ports": map[string]any{"count": int64(2), "speed": "1G"}}},
			"policy": runtime.DeepCopyJSON(normalised(given).(map[string]any)),
		},
	}
	unknown, err := kind.prune(bed)
	if err != nil {
		return nil, fmt.Errorf("reading the default policy from %s: %w", file, err)
	}
	var problems []error
	for _, path := range unknown {
		problem := strings.TrimPrefix(path, "spec.policy.") + ": unknown field"
		if suggestion := suggestField(kind.structural, path); suggestion != "" {
			problem += ": " + suggestion
		}
		problems = append(problems, errors.New(problem))
	}
	kind.complete(bed)
	for _, p := range kind.validate(bed) {
		problems = append(problems, errors.New(strings.TrimPrefix(strings.TrimPrefix(p.Error(), "spec.policy."), "spec.")))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("the default policy in %s is not one: %w", file, errors.Join(problems...))
	}
	var read v1alpha1.TestBed
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(bed, &read); err != nil {
		return nil, fmt.Errorf("reading the default policy from %s: %w", file, err)
	}
	return read.Spec.Policy, nil
}

// normalised turns the numbers of parsed YAML into those of the API machinery.
func normalised(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = normalised(v[key])
		}
	case []any:
		for i := range v {
			v[i] = normalised(v[i])
		}
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	}
	return value
}
