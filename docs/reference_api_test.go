package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the kinds of resources in the order of the reference. A structure is described where it appears first.
var kinds = []string{"testbed", "trafficprofile", "benchmark", "benchmarkresult", "benchmarkschedule", "benchmarksnapshot", "labpolicy", "reservation", "notificationsink"}

// TestReferenceOfResources checks that the pages of the API have all that the definitions of resources have.
func TestReferenceOfResources(t *testing.T) {
	const folder = "../charts/nodrop/files/crds"
	files, err := filepath.Glob(filepath.Join(folder, "nodrop.dev_*.yaml"))
	if err != nil || len(files) != len(kinds) {
		t.Fatalf("%d definitions of resources, and %d kinds in the reference: add the kind to kinds, and its page to README.md", len(files), len(kinds))
	}
	known := map[string]string{}
	for _, kind := range kinds {
		text, err := os.ReadFile(filepath.Join(folder, "nodrop.dev_"+kind+"s.yaml"))
		if err != nil {
			text, err = os.ReadFile(filepath.Join(folder, "nodrop.dev_"+strings.TrimSuffix(kind, "y")+"ies.yaml"))
		}
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensions.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		compareReference(t, kind, describeResource(kind, definition, known))
	}
}

// compareReference compares a page of the reference with its wanted text. With -update it writes the page.
func compareReference(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join("reference", name+".md")
	have, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if string(have) == want {
		return
	}
	if !*update {
		t.Errorf("docs/%s is out of date: run go test ./docs -update", file)
	} else if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// resourcePage is a page of the reference while it is written.
type resourcePage struct {
	kind string
	text strings.Builder
	// known has the place of each structure by its content, and headings the number of headings of this page with each anchor.
	known    map[string]string
	headings map[string]int
}

func describeResource(kind string, definition apiextensions.CustomResourceDefinition, known map[string]string) string {
	p := &resourcePage{kind: kind, known: known, headings: map[string]int{}}
	names, version := definition.Spec.Names, definition.Spec.Versions[0]
	root := *version.Schema.OpenAPIV3Schema
	fmt.Fprintf(&p.text, "# %s\n\n%s\n\n", names.Kind, inCell(root.Description))
	fmt.Fprintf(&p.text, "| | |\n|---|---|\n| API version | `%s/%s` |\n| Scope | %s |\n| Names for `kubectl get` | `%s` |\n",
		definition.Spec.Group, version.Name, definition.Spec.Scope, strings.Join(append([]string{names.Plural}, names.ShortNames...), "`, `"))
	fmt.Fprint(&p.text, "\nThis page is generated from the definition of the resource by `go test ./docs -update`. A field without the word *required* is optional.\n\n"+
		"<!-- terms: off -->\n")
	p.rules(root)
	for _, part := range slices.Sorted(maps.Keys(root.Properties)) {
		if schema := root.Properties[part]; part != "apiVersion" && part != "kind" && part != "metadata" {
			p.structure(part, schema, 2)
		}
	}
	fmt.Fprint(&p.text, "\n<!-- terms: on -->\n")
	return p.text.String()
}

// structure writes a section about a field that has fields of its own, and sections about those.
func (p *resourcePage) structure(path string, schema apiextensions.JSONSchemaProps, level int) {
	fmt.Fprintf(&p.text, "\n%s `%s`\n\n", strings.Repeat("#", level), path)
	if schema.Description != "" {
		fmt.Fprintf(&p.text, "%s\n\n", inCell(schema.Description))
	}
	fmt.Fprint(&p.text, "| Field | Type | Default | Bounds | Meaning |\n|---|---|---|---|---|\n")
	type nested struct {
		path   string
		schema apiextensions.JSONSchemaProps
	}
	var below []nested
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		inner, mark := innermost(field)
		kind := typeOf(field)
		if len(inner.Properties) > 0 {
			place := path + "." + name + mark
			address, isKnown := p.known[contentOf(inner)]
			if !isKnown {
				address = p.kind + ".md#" + p.anchor(place)
				p.known[contentOf(inner)] = address
				below = append(below, nested{place, inner})
			}
			kind = strings.Replace(kind, "object", "[object]("+strings.TrimPrefix(address, p.kind+".md")+")", 1)
		}
		required := ""
		if slices.Contains(schema.Required, name) {
			required = "*required*<br>"
		}
		fmt.Fprintf(&p.text, "| `%s` | %s%s | %s | %s | %s |\n", name, required, kind, defaultOf(field), boundsOf(field), inCell(field.Description))
	}
	p.rules(schema)
	for _, n := range below {
		p.structure(n.path, n.schema, 3)
	}
}

// anchor returns the anchor of a heading, as code hosts name it.
func (p *resourcePage) anchor(heading string) string {
	name := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	count := p.headings[name]
	p.headings[name]++
	if count > 0 {
		panic("two headings of " + p.kind + " have the anchor " + name)
	}
	return name
}

// rules writes the messages of the rules that the API server checks.
func (p *resourcePage) rules(schema apiextensions.JSONSchemaProps) {
	var messages []string
	for _, rule := range schema.XValidations {
		messages = append(messages, "- "+cmp.Or(inCell(rule.Message), "`"+rule.Rule+"`")+"\n")
	}
	if len(messages) > 0 {
		fmt.Fprintf(&p.text, "\nThe API server checks:\n\n%s", strings.Join(messages, ""))
	}
}

// innermost returns the schema of the items of lists and maps, and the mark of their path.
func innermost(schema apiextensions.JSONSchemaProps) (inner apiextensions.JSONSchemaProps, mark string) {
	switch {
	case schema.Items != nil && schema.Items.Schema != nil:
		inner, mark = innermost(*schema.Items.Schema)
		return inner, "[]" + mark
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		inner, mark = innermost(*schema.AdditionalProperties.Schema)
		return inner, ".NAME" + mark
	}
	return schema, ""
}

func contentOf(schema apiextensions.JSONSchemaProps) string {
	schema.Description, schema.Default = "", nil
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func typeOf(schema apiextensions.JSONSchemaProps) string {
	switch {
	case schema.XIntOrString:
		return "integer or string"
	case schema.Type == "array":
		return "list of " + typeOf(*schema.Items.Schema)
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*schema.AdditionalProperties.Schema)
	}
	return cmp.Or(schema.Type, "any")
}

func defaultOf(schema apiextensions.JSONSchemaProps) string {
	if schema.Default == nil {
		return ""
	}
	return inCode(string(schema.Default.Raw))
}

// boundsOf returns the values that a field may have.
func boundsOf(schema apiextensions.JSONSchemaProps) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	between := func(low, high, unit string) {
		switch {
		case low != "" && high != "":
			add("%s to %s%s", low, high, unit)
		case low != "":
			add("at least %s%s", low, unit)
		case high != "":
			add("at most %s%s", high, unit)
		}
	}
	count := func(low, high *int64, unit string) {
		text := func(n *int64) string {
			if n == nil {
				return ""
			}
			return strconv.FormatInt(*n, 10)
		}
		between(text(low), text(high), " "+unit)
	}
	low, high := "", ""
	if schema.Minimum != nil {
		low = number(schema.Minimum)
	}
	if schema.Maximum != nil {
		high = number(schema.Maximum)
	}
	between(low, high, "")
	count(schema.MinLength, schema.MaxLength, "characters")
	count(schema.MinItems, schema.MaxItems, "items")
	count(schema.MinProperties, schema.MaxProperties, "members")
	if len(schema.Enum) > 0 {
		var values []string
		for _, value := range schema.Enum {
			values = append(values, inCode(strings.Trim(string(value.Raw), `"`)))
		}
		add("%s", strings.Join(values, ", "))
	}
	if schema.Pattern != "" {
		add("matches %s", inCode(schema.Pattern))
	}
	if schema.Format != "" {
		add("format %s", schema.Format)
	}
	for _, rule := range schema.XValidations {
		if rule.Message != "" && schema.Type != "object" {
			add("%s", inCell(rule.Message))
		}
	}
	if schema.Type == "array" {
		if inner := boundsOf(*schema.Items.Schema); inner != "" {
			add("each: %s", inner)
		}
	}
	return strings.Join(all, "; ")
}

// inCell returns a text for a cell of a table.
func inCell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "[", "\\[").Replace(strings.Join(strings.Fields(text), " "))
}

// inCode returns a text as code in a cell of a table.
func inCode(text string) string {
	quote := "`"
	if strings.Contains(text, "`") {
		quote = "``"
	}
	return quote + strings.ReplaceAll(text, "|", "\\|") + quote
}
