package charts_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// immutable changes every field of the spec of a benchmark, each for itself. A field
// that is new has to be added here: to what is refused, or to what may change.
func immutable(t *testing.T, c client.Client) {
	mayChange := map[string]any{"abort": true, "ttlSecondsAfterFinished": int64(60)}
	refused := map[string]any{
		"testBedName":           "other",
		"testBedSelector":       map[string]any{"matchLabels": map[string]any{"a": "b"}},
		"testBedRequirements":   map[string]any{"ports": int64(4)},
		"trafficProfileName":    "other",
		"suspend":               true,
		"priority":              int64(7),
		"tests":                 []any{map[string]any{"name": "a", "soak": map[string]any{}}},
		"variants":              []any{"fec"},
		"frameSizes":            []any{int64(64)},
		"deviceImage":           "router:2",
		"deviceParameters":      []any{map[string]any{"name": "entries", "value": "7"}},
		"gates":                 []any{map[string]any{"name": "g", "test": "a", "metric": "LatencyAvg", "max": "5us"}},
		"historyName":           "nightly",
		"attribution":           map[string]any{"operator": "Ada"},
		"capture":               map[string]any{"frames": int64(8)},
		"settleTime":            "3s",
		"restTime":              "0s",
		"activeDeadlineSeconds": int64(3600),
		"reservationName":       "nightly",
		"priorityClassName":     "release",
		"preemptible":           true,
		"gang":                  map[string]any{"name": "ring", "role": "left", "members": int64(2)},
	}
	definition := definitionOf(t, "nodrop.dev_benchmarks.yaml")
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
			if name == "testBedSelector" || name == "testBedRequirements" {
				delete(spec, "testBedName")
			}
			spec[name] = value
			kubetest.Refused(t, c.Update(t.Context(), u), "a Benchmark cannot be changed after it was admitted")
		})
	}
}
