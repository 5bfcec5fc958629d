package surface

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

const resource = `
spec:
  group: nodrop.dev
  scope: Namespaced
  names: {kind: TestBed, plural: testbeds, shortNames: [tb]}
  versions:
  - name: v1alpha1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [device]
            properties:
              device: {type: string, enum: [switch, router], maxLength: 63}
              ports: {type: array, maxItems: 64, items: {type: object, properties: {mtu: {type: integer, minimum: 64}}}}
              labels: {type: object, additionalProperties: {type: string}}
`

const document = `{"$id": "nodrop.dev/result/v1", "type": "object", "required": ["rows"], "properties": {
  "rows": {"type": "array", "items": {"$ref": "#/definitions/Row"}}, "note": {"type": "string"}},
  "definitions": {"Row": {"type": "object", "properties": {"loss": {"type": "integer"}, "validity": {"type": "string", "enum": ["Valid"]}}}}}`

const codes = "package exit\nconst (\n\tPassed = 0\n\tUse = 1\n)\n"

// example returns the facts of a small program; change edits what they are read from.
func example(t *testing.T, change func(text string) string) Surface {
	t.Helper()
	s := Surface{}
	add := func(of Surface, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.Add(of)
	}
	add(Resource([]byte(change(resource))))
	add(Document("result", []byte(change(document))))
	return s
}

// A change of one word in a resource or in the schema of results, and what is said about it; nothing about additions.
func TestBreaksOfSchemas(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"nothing":                  {"", "", ""},
		"removed field":            {"labels: {type: object, additionalProperties: {type: string}}", "", "field TestBed.v1alpha1.spec.labels is object"},
		"renamed field":            {"mtu: {", "size: {", "spec.ports[].mtu is integer"},
		"other type":               {"mtu: {type: integer", "mtu: {type: number", "spec.ports[].mtu is integer"},
		"other type of values":     {"additionalProperties: {type: string}", "additionalProperties: {type: integer}", "spec.labels{} is string"},
		"removed value":            {"enum: [switch, router]", "enum: [switch]", "spec.device allows router"},
		"field became required":    {"required: [device]", "required: [device, ports]", "spec.ports is required now"},
		"less items":               {"maxItems: 64", "maxItems: 32", "at most 64 was allowed, and now 32"},
		"greater minimum":          {"minimum: 64", "minimum: 68", "at least 64 was required, and now 68"},
		"new limit":                {"mtu: {type: integer", "mtu: {maximum: 9000, type: integer", "mtu value is limited now: at-most 9000"},
		"removed version":          {"v1alpha1", "v1beta1", "resource TestBed.v1alpha1"},
		"removed short name":       {"[tb]", "[]", "short name tb"},
		"renamed field of results": {`"loss":`, `"lost":`, "document result Row.loss is integer"},
		"not always in results":    {`"required": ["rows"]`, `"required": []`, "document result.rows is always there"},
		"other schema of results":  {"result/v1", "result/v2", "nodrop.dev/result/v1"},

		"additional field":           {"labels: {", "pool: {type: string}\n              labels: {", ""},
		"additional value":           {"[switch, router]", "[switch, router, firewall]", ""},
		"field became optional":      {"required: [device]", "required: []", ""},
		"more items":                 {"maxItems: 64", "maxItems: 128", ""},
		"limit removed":              {", minimum: 64", "", ""},
		"additional required object": {"labels: {", "pool: {type: object, required: [name], properties: {name: {type: string}}}\n              labels: {", ""},
		"additional field of result": {`"loss":`, `"jitter": {"type": "integer"}, "loss":`, ""},
		"always in results":          {`"required": ["rows"]`, `"required": ["rows", "note"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := Parse(example(t, func(text string) string { return text }).Text())
			found := false
			after := example(t, func(text string) string {
				found = found || strings.Contains(text, tc.from)
				if tc.from == "" {
					return text
				}
				return strings.Replace(text, tc.from, tc.to, 1)
			})
			if !found {
				t.Fatalf("the example does not contain %q", tc.from)
			}
			said(t, after.Breaks(before), tc.want)
		})
	}
}

func said(t *testing.T, breaks []string, want string) {
	t.Helper()
	if want == "" && len(breaks) > 0 {
		t.Errorf("an allowed change is reported: %q", breaks)
	}
	if want != "" && !slices.ContainsFunc(breaks, func(b string) bool { return strings.Contains(b, want) }) {
		t.Errorf("got %q, want %q", breaks, want)
	}
}

func TestBreaksOfCommands(t *testing.T) {
	program := func(change func(run *cobra.Command)) Surface {
		root, run := &cobra.Command{Use: "nodrop"}, &cobra.Command{Use: "run", Aliases: []string{"measure"}, Run: func(*cobra.Command, []string) {}}
		root.AddCommand(run, &cobra.Command{Use: "inside", Hidden: true}, &cobra.Command{Use: "pod", GroupID: "pods"})
		run.Flags().Int("parallel", 4, "how many")
		change(run)
		return Commands(root, "pods")
	}
	before := program(func(run *cobra.Command) { run.Flags().StringP("file", "f", "", "the file") })
	for _, name := range []string{"inside", "pod"} {
		if strings.Contains(before.Text(), name) {
			t.Errorf("the command %s promises something: %s", name, before.Text())
		}
	}
	for name, tc := range map[string]struct {
		change func(run *cobra.Command)
		want   string
	}{
		"dropped flag":    {func(*cobra.Command) {}, "command nodrop run --file is string"},
		"other type":      {func(run *cobra.Command) { run.Flags().StringSliceP("file", "f", nil, "") }, "command nodrop run --file is string"},
		"dropped short":   {func(run *cobra.Command) { run.Flags().String("file", "", "") }, "command nodrop run --file short -f"},
		"renamed command": {func(run *cobra.Command) { run.Use = "start" }, "command nodrop run"},
		"dropped alias":   {func(run *cobra.Command) { run.Aliases = nil; run.Flags().StringP("file", "f", "", "") }, "alias measure"},
		"other default":   {func(run *cobra.Command) { run.Flags().Lookup("parallel").DefValue = "8" }, "command nodrop run --parallel defaults to 4"},
		"additional flag": {func(run *cobra.Command) {
			run.Flags().StringP("file", "f", "", "")
			run.Flags().Bool("quick", false, "")
		}, ""},
		"other description": {func(run *cobra.Command) { run.Flags().StringP("file", "f", "", "another text"); run.Short = "Measure" }, ""},
	} {
		t.Run(name, func(t *testing.T) { said(t, program(tc.change).Breaks(before), tc.want) })
	}
}

func TestBreaksOfMetrics(t *testing.T) {
	of := func(tag, unit, label string) Surface {
		s := Series([]metrics.Measurement{{Name: "nodrop_row", Tags: []metrics.Column{{Name: tag}}, Fields: []metrics.Column{{Name: "loss", Unit: unit}}}})
		s.Add(Metrics([]opmetrics.Definition{{Name: "nodrop_bed_ready", Type: "Gauge", Labels: []string{label}}}))
		return s
	}
	before := of("bed", "ppm", "bed")
	said(t, of("testbed", "ppm", "bed").Breaks(before), "series nodrop_row tag bed")
	said(t, of("bed", "ppb", "bed").Breaks(before), "series nodrop_row field loss in ppm")
	said(t, of("bed", "ppm", "testbed").Breaks(before), "metric nodrop_bed_ready label bed")
	said(t, of("bed", "ppm", "bed").Breaks(before), "")
}
