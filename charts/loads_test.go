package charts_test

import (
	"path"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/charts"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// TestLoadsAreChecked holds every load of a spec to the rule of its type, and the loads
// that results repeat to none.
func TestLoadsAreChecked(t *testing.T) {
	for _, tc := range []struct {
		file  string
		of    reflect.Type
		rules int
	}{
		{"nodrop.dev_benchmarks.yaml", reflect.TypeFor[v1alpha1.BenchmarkSpec](), 1},
		{"nodrop.dev_benchmarkresults.yaml", reflect.TypeFor[v1alpha1.BenchmarkResultSpec](), 0},
	} {
		spec := definitionOf(t, tc.file).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		loads := loadsIn(tc.of, &spec, "spec")
		if len(loads) == 0 {
			t.Errorf("the test finds no load in %s", tc.file)
		}
		for path, load := range loads {
			found := 0
			for _, rule := range load.XValidations {
				if strings.Contains(rule.MessageExpression, "is not a load") {
					found++
				}
			}
			if found != tc.rules || load.Type != "string" || load.MaxLength == nil {
				t.Errorf("%s is a %s with %d rules of a load, want %d", path, load.Type, found, tc.rules)
			}
		}
	}
}

func definitionOf(t *testing.T, file string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := charts.Files.ReadFile(path.Join(charts.Definitions, file))
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	return definition
}

// loadsIn are the schemas of all loads in a type, by their paths.
func loadsIn(of reflect.Type, schema *apiextensionsv1.JSONSchemaProps, path string) map[string]*apiextensionsv1.JSONSchemaProps {
	found := map[string]*apiextensionsv1.JSONSchemaProps{}
	add := func(more map[string]*apiextensionsv1.JSONSchemaProps) {
		for path, load := range more {
			found[path] = load
		}
	}
	switch {
	case of == reflect.TypeFor[v1alpha1.Load](), of == reflect.TypeFor[v1alpha1.LoadAmount]():
		found[path] = schema
	case of.Kind() == reflect.Pointer:
		add(loadsIn(of.Elem(), schema, path))
	case of.Kind() == reflect.Slice && schema.Items != nil:
		add(loadsIn(of.Elem(), schema.Items.Schema, path+"[]"))
	case of.Kind() == reflect.Struct:
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				add(loadsIn(field.Type, schema, path))
			} else if member, known := schema.Properties[name]; known {
				add(loadsIn(field.Type, &member, path+"."+name))
			}
		}
	}
	return found
}

// loads gives loads in every unit, and what is no load, to a real API server.
func loads(t *testing.T, c client.Client) {
	const word = "the word throughput is not possible here: give a percentage of line rate above 0% and up to 100%, such as 50%, or a rate of each sending port, such as 5Mpps or 2.5Gbps"
	for name, tc := range map[string]struct {
		test, refused string
	}{
		"a search between rates":    {"throughput: {minLoad: 10kpps, maxLoad: 2.5Gbps, resolution: 1000pps}", ""},
		"a broadcast between rates": {"broadcast: {minLoad: 10kpps, maxLoad: 50%, resolution: 1.5Mbps}", ""},
		"falling rates":             {"frameLoss: {maxLoad: 14.880952Mpps, step: 1Mpps}", ""},
		"a falling rate":            {"forwardingRate: {maxLoad: 5Mpps, step: 10%}", ""},
		"an onset to a rate":        {"ordering: {loads: [5Mpps], resolution: 10kpps}", ""},
		"a congestion":              {"congestionControl: {load: 8Gbps}", ""},
		"head of line blocking":     {"headOfLineBlocking: {load: 8Gbps}", ""},
		"a load at the throughput":  {"soak: {load: throughput}", ""},
		"the word as a bound":       {"throughput: {minLoad: throughput}", word},
		"the word in a congestion":  {"congestionControl: {load: throughput}", word},
		"no rate":                   {"throughput: {maxLoad: 0Mpps}", `"0Mpps" is not a load: give a percentage of line rate`},
		"a half frame in a second":  {"broadcast: {resolution: 1.5pps}", `"1.5pps" is not a load`},
		"more than all":             {"frameLoss: {maxLoad: 101%}", `"101%" is not a load`},
		"a unit that nothing is in": {"forwardingRate: {step: 5mpps}", `"5mpps" is not a load`},
		// docs/cli.md has these words of the API server.
		"no unit":                   {"throughput: {maxLoad: 50}", `Invalid value: "integer": spec.tests[0].throughput.maxLoad in body must be of type string: "integer"`},
		"no unit of time":           {"throughput: {trialDuration: 60}", `must be of type string: "integer"`},
		"a width, which is no load": {"throughput: {search: MLRsearch, mlrSearch: {width: 5Mpps}}", `"5Mpps" is not a percentage of line rate`},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), parse(t, benchmarkOf("[{name: a, "+tc.test+"}]")))
			if tc.refused != "" {
				kubetest.Refused(t, err, tc.refused)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
