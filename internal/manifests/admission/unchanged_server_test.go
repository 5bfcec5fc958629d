package admission_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// keepsItsSpec changes every field of the spec of a benchmark, each for itself. A field
// that is new has to be added here: to what is refused, or to what may change.
func keepsItsSpec(t *testing.T, s *server) {
	mayChange := map[string]any{"abort": true, "ttlSecondsAfterFinished": 60}
	refused := map[string]any{
		"testBedName":           "other",
		"testBedSelector":       map[string]any{"matchLabels": map[string]any{"a": "b"}},
		"testBedRequirements":   map[string]any{"ports": 4},
		"trafficProfileName":    "other",
		"suspend":               true,
		"priority":              7,
		"tests":                 []any{map[string]any{"name": "a", "soak": map[string]any{}}},
		"variants":              []any{"fec"},
		"frameSizes":            []any{64},
		"deviceImage":           "router:2",
		"deviceParameters":      []any{map[string]any{"name": "entries", "value": "7"}},
		"gates":                 []any{map[string]any{"name": "g", "test": "latency", "metric": "LatencyAvg", "max": "5us"}},
		"historyName":           "nightly",
		"attribution":           map[string]any{"operator": "Ada"},
		"capture":               map[string]any{"frames": 8},
		"settleTime":            "3s",
		"restTime":              "0s",
		"activeDeadlineSeconds": 3600,
		"reservationName":       "nightly",
		"priorityClassName":     "release",
		"preemptible":           true,
		"gang":                  map[string]any{"name": "ring", "role": "left", "members": 2},
	}
	schema, err := manifest.Structural("Benchmark")
	if err != nil {
		t.Fatal(err)
	}
	for name := range schema.Properties["spec"].Properties {
		t.Run(name, func(t *testing.T) {
			value, may := mayChange[name]
			if !may {
				if value = refused[name]; value == nil {
					t.Fatal("the test does not say whether this field may change")
				}
			}
			change := map[string]any{name: value}
			if name == "testBedSelector" || name == "testBedRequirements" {
				change["testBedName"] = nil
			}
			patch, err := json.Marshal(map[string]any{"spec": change})
			if err != nil {
				t.Fatal(err)
			}
			err = s.c.Patch(t.Context(), s.sampleBenchmark(), client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
			if may {
				if err != nil {
					t.Error(err)
				}
				return
			}
			kubetest.Refused(t, err, "a Benchmark cannot be changed after it was admitted")
			if name != "suspend" && !strings.Contains(err.Error(), "spec."+name) { // The schema has a rule of this one.
				t.Errorf("the refusal does not name spec.%s: %v", name, err)
			}
		})
	}
}

// writtenAnew updates a benchmark by a client in Go, which writes some durations in another way.
func writtenAnew(s *server) {
	b := s.load("config", "samples", "frr", "benchmark.yaml")[0]
	b.SetName("written-anew")
	s.Expect(unstructured.SetNestedField(b.Object, "0.25s", "spec", "settleTime")).To(Succeed())
	tests, _, err := unstructured.NestedSlice(b.Object, "spec", "tests")
	s.Expect(err).NotTo(HaveOccurred())
	latency, ok := tests[1].(map[string]any)["latency"].(map[string]any)
	s.Expect(ok).To(BeTrue())
	latency["trialDuration"] = "60s"
	s.Expect(unstructured.SetNestedSlice(b.Object, tests, "spec", "tests")).To(Succeed())
	s.Expect(s.c.Create(s.t.Context(), b)).To(Succeed())

	typed := &v1alpha1.Benchmark{}
	s.Expect(s.c.Get(s.t.Context(), client.ObjectKeyFromObject(b), typed)).To(Succeed())
	typed.Labels = map[string]string{"written": "anew"}
	s.Expect(s.c.Update(s.t.Context(), typed)).To(Succeed())
	typed.Spec.Tests[1].Latency.TrialDuration.Duration *= 2
	typed.Spec.Priority = 3
	s.Expect(s.c.Update(s.t.Context(), typed)).To(MatchError(And(
		ContainSubstring(`spec.tests[1].latency.trialDuration: Forbidden: was "1m0s", is "2m0s": a Benchmark cannot be changed`),
		ContainSubstring("spec.priority: Forbidden: was 0, is 3: "))))

	patch := func(text string) error {
		return s.c.Patch(s.t.Context(), typed, client.RawPatch(types.MergePatchType, []byte(text)))
	}
	s.Expect(patch(`{"metadata":{"finalizers":["` + v1alpha1.FinalizerArchive + `"]}}`)).To(Succeed())
	s.Expect(s.c.Delete(s.t.Context(), b)).To(Succeed())
	s.Expect(patch(`{"spec":{"priority":3}}`)).To(MatchError(ContainSubstring("spec.priority: Forbidden: was 0, is 3: ")), "while it is being deleted")
	s.Expect(patch(`{"metadata":{"finalizers":null}}`)).To(Succeed())
}
