package crd_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/config/crd"
	"nodrop.dev/nodrop/internal/kubetest"
)

// immutable changes every field of the spec of a benchmark, each for itself. A field
// that is new has to be added here: to what is refused, or to what may change.
func immutable(t *testing.T, c client.Client) {
	mayChange := map[string]any{"abort": true, "ttlSecondsAfterFinished": int64(60)}
	refused := map[string]any{
		"testBedName":           "other",
		"testBedSelector":       map[string]any{"matchLabels": map[string]any{"a": "b"}},
		"trafficProfileName":    "other",
		"priority":              int64(7),
		"tests":                 []any{map[string]any{"name": "a", "soak": map[string]any{}}},
		"variants":              []any{"fec"},
		"settleTime":            "3s",
		"restTime":              "0s",
		"activeDeadlineSeconds": int64(3600),
	}
	text, err := crd.Files.ReadFile("nodrop.dev_benchmarks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	for name := range definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
		t.Run(name, func(t *testing.T) {
			u := parse(t, benchmarkOf("[{name: a, latency: {}}]"))
			if err := c.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			spec := u.Object["spec"].(map[string]any)
			if value, may := mayChange[name]; may {
				spec[name] = value
				if err := c.Update(t.Context(), u); err != nil {
					t.Error(err)
				}
				return
			}
			value, known := refused[name]
			if !known {
				t.Fatal("the test does not say whether this field may change")
			}
			if name == "testBedSelector" {
				delete(spec, "testBedName")
			}
			spec[name] = value
			kubetest.Refused(t, c.Update(t.Context(), u), "a Benchmark cannot be changed after it was admitted")
		})
	}
}
