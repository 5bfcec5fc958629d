package report

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/history"
)

const docs = "../../../docs"

// The schema in docs is generated from the Go types and their comments, so that
// it cannot say anything else than the program does.
func TestSchemaDocumentsTheTypes(t *testing.T) {
	s := describe(t)
	asJSON, err := json.MarshalIndent(s.root(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(docs, "result-schema.json"), string(asJSON)+"\n")
	golden(t, filepath.Join(docs, "result-schema.md"), resultHead+s.markdown())
}

func TestSchemaDocumentsComparisons(t *testing.T) {
	s := describeType(t, reflect.TypeFor[compare.Comparison](), compare.Schema, "../compare")
	asJSON, err := json.MarshalIndent(s.root(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(docs, "comparison-schema.json"), string(asJSON)+"\n")
	golden(t, filepath.Join(docs, "comparison-schema.md"), comparisonHead+s.markdown())
}

func TestComparisonsMeetTheSchema(t *testing.T) {
	root := reflect.TypeFor[compare.Comparison]()
	validator := validatorOf(t, describeType(t, root, compare.Schema, "../compare").inline(root))
	for name, c := range comparisons(t) {
		if result := validator.Validate(decoded(t, c.Comparison)); !result.IsValid() {
			t.Errorf("%s: %v", name, result.AsError())
		}
	}
}

func TestDocumentsMeetTheSchema(t *testing.T) {
	validator := schemaValidator(t)
	for name, document := range allDocuments() {
		if result := validator.Validate(decoded(t, document)); !result.IsValid() {
			t.Errorf("%s: %v", name, result.AsError())
		}
	}
}

func TestSchemaRefusesWhatIsNoResult(t *testing.T) {
	validator := schemaValidator(t)
	breaks := map[string]func(document map[string]any){
		"unknown field":         func(d map[string]any) { d["verdict"] = "good" },
		"missing rows":          func(d map[string]any) { delete(d, "rows") },
		"other schema":          func(d map[string]any) { d["schema"] = "nodrop.dev/result/v2" },
		"fraction of a frame":   func(d map[string]any) { firstRow(d)["frames"].(map[string]any)["sent"] = 1.5 },
		"unknown field in rows": func(d map[string]any) { firstRow(d)["loss"] = 1 },
		"unknown validity":      func(d map[string]any) { firstRow(d)["validity"] = "Perfect" },
	}
	for name, change := range breaks {
		t.Run(name, func(t *testing.T) {
			document := decoded(t, chassis())
			change(document)
			if validator.Validate(document).IsValid() {
				t.Error("accepted")
			}
		})
	}
}

func firstRow(document map[string]any) map[string]any {
	return document["rows"].([]any)[0].(map[string]any)
}

func decoded(t *testing.T, document any) map[string]any {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func schemaValidator(t *testing.T) *validate.SchemaValidator {
	t.Helper()
	return validatorOf(t, describe(t).inline(reflect.TypeFor[Document]()))
}

func validatorOf(t *testing.T, inline object) *validate.SchemaValidator {
	t.Helper()
	text, err := json.Marshal(inline)
	if err != nil {
		t.Fatal(err)
	}
	var schema spec.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
}

// description of Go types: comments of types and fields by type name.
type description struct {
	t        *testing.T
	comments map[string]string
	enums    map[string][]any
	order    []reflect.Type
	// schema is the name of the schema, that of the first type of order.
	schema string
}

func describe(t *testing.T) *description {
	return describeType(t, reflect.TypeFor[Document](), Schema, "../compare", "../gate", ".")
}

// describeType describes a type of the packages in some folders, with all that it
// is made of.
func describeType(t *testing.T, root reflect.Type, schema string, dirs ...string) *description {
	d := &description{t: t, comments: map[string]string{}, enums: map[string][]any{}, schema: schema}
	for _, dir := range dirs {
		d.parse(dir)
	}
	d.parse("../../../api/v1alpha1")
	d.collect(root)
	return d
}

func (d *description) parse(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		d.t.Fatalf("no Go files in %s: %v", dir, err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			general, isGeneral := declaration.(*ast.GenDecl)
			if !isGeneral || general.Tok != token.TYPE {
				continue
			}
			for _, s := range general.Specs {
				d.describeType(s.(*ast.TypeSpec), general.Doc)
			}
		}
	}
}

func (d *description) describeType(s *ast.TypeSpec, doc *ast.CommentGroup) {
	name := s.Name.Name
	d.comments[name] = prose(doc)
	for _, line := range strings.Split(raw(doc), "\n") {
		if _, values, found := strings.Cut(line, "+kubebuilder:validation:Enum="); found {
			for value := range strings.SplitSeq(values, ";") {
				d.enums[name] = append(d.enums[name], value)
			}
		}
	}
	structure, isStruct := s.Type.(*ast.StructType)
	if !isStruct {
		return
	}
	for _, f := range structure.Fields.List {
		for _, fieldName := range f.Names {
			d.comments[name+"."+fieldName.Name] = prose(f.Doc)
		}
	}
}

func raw(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var lines []string
	for _, comment := range doc.List {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")))
	}
	return strings.Join(lines, "\n")
}

// prose is a comment without the markers for generators.
func prose(doc *ast.CommentGroup) string {
	var words []string
	for line := range strings.SplitSeq(raw(doc), "\n") {
		if !strings.HasPrefix(line, "+") && line != "" {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

func (d *description) collect(t reflect.Type) {
	t = element(t)
	if t.Kind() != reflect.Struct || !ours(t) {
		return
	}
	for _, known := range d.order {
		if known == t {
			return
		}
	}
	d.order = append(d.order, t)
	for _, f := range fieldsOf(t) {
		d.collect(f.Type)
	}
}

// ownedField is a field with the type that declares it.
type ownedField struct {
	reflect.StructField
	owner reflect.Type
}

// fieldsOf are the fields that encoding/json writes of a structure, with those of
// structures that it embeds.
func fieldsOf(t reflect.Type) []ownedField {
	var fields []ownedField
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			fields = append(fields, fieldsOf(f.Type)...)
		} else if f.Tag.Get("json") != "-" {
			fields = append(fields, ownedField{f, t})
		}
	}
	return fields
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// ours reports whether a type is described here. A bed is not: its form is that of the
// API, in kubectl explain testbed.spec.
func ours(t reflect.Type) bool {
	packages := []string{reflect.TypeFor[Document]().PkgPath(), reflect.TypeFor[compare.Comparison]().PkgPath(), reflect.TypeFor[history.History]().PkgPath(), reflect.TypeFor[gate.Judgement]().PkgPath(), reflect.TypeFor[v1alpha1.Benchmark]().PkgPath()}
	return slices.Contains(packages, t.PkgPath()) && t != reflect.TypeFor[v1alpha1.TestBedSpec]()
}

type object = map[string]any

func (d *description) root() object {
	definitions := object{}
	for _, t := range d.order[1:] {
		definitions[t.Name()] = d.structure(t, d.reference)
	}
	root := d.structure(d.order[0], d.reference)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["$id"] = d.schema
	root["definitions"] = definitions
	return root
}

func (d *description) reference(t reflect.Type) object {
	return object{"$ref": "#/definitions/" + t.Name()}
}

// inline is the schema without references.
func (d *description) inline(t reflect.Type) object { return d.structure(t, d.inline) }

func (d *description) structure(t reflect.Type, nested func(reflect.Type) object) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := d.value(f.Type, nested)
		if t == d.order[0] && name == "schema" {
			property["enum"] = []any{d.schema}
		}
		comment := d.comments[f.owner.Name()+"."+f.Name]
		if comment == "" {
			d.t.Fatalf("%s.%s has no comment", t.Name(), f.Name)
		}
		if property["$ref"] == nil {
			property["description"] = comment
		}
		properties[name] = property
		if alwaysThere(f.StructField, options) {
			required = append(required, name)
		}
	}
	schema := object{"type": "object", "description": d.comments[t.Name()], "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// alwaysThere reports whether encoding/json writes the field even when it is
// empty: omitempty does nothing for a struct.
func alwaysThere(f reflect.StructField, options string) bool {
	if strings.Contains(options, "omitzero") {
		return false
	}
	return !strings.Contains(options, "omitempty") || f.Type.Kind() == reflect.Struct
}

func (d *description) value(t reflect.Type, nested func(reflect.Type) object) object {
	switch {
	case t == reflect.TypeFor[metav1.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[metav1.Duration]():
		return object{"type": "string"}
	case t.Kind() == reflect.Pointer:
		return d.value(t.Elem(), nested)
	case t == reflect.TypeFor[[]byte]():
		return object{"type": "string", "format": "byte"}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": d.value(t.Elem(), nested)}
	case t.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": d.value(t.Elem(), nested)}
	case t.Kind() == reflect.Struct && ours(t):
		return nested(t)
	case t.Kind() == reflect.Struct:
		return object{"type": "object"}
	case t.Kind() == reflect.String && d.enums[t.Name()] != nil:
		return object{"type": "string", "enum": d.enums[t.Name()]}
	case t.Kind() == reflect.String:
		return object{"type": "string"}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		return object{"type": "integer"}
	}
	d.t.Fatalf("no schema for %s", t)
	return nil
}

const resultHead = `# The result document

` + "`nodrop run -o json`, `nodrop report -o json` and `kubectl nodrop report -o json`" + ` write this document;
` + "`-o yaml`" + ` writes the same as YAML, and an archive keeps it compressed. Its schema is ` + "`" + Schema + "`" + `: fields may be added under that name,
none is removed, renamed or given another meaning. [result-schema.json](result-schema.json) is the same as
JSON Schema.

Numbers are integers, with their unit in the name: frames, bit/s, nanoseconds (Ns), milliseconds, parts per
million of line rate (PPM). Rates are summed over all sending ports. Percentages and durations of the
specification are texts as in the manifests.

Both files are generated from the Go types by ` + "`go test ./internal/reporting/report -update`" + `.
`

const comparisonHead = `# The comparison document

` + "`nodrop compare -o json`" + ` writes this document. Its schema is ` + "`" + compare.Schema + "`" + `: fields may be added under
that name, none is removed, renamed or given another meaning. [comparison-schema.json](comparison-schema.json) is
the same as JSON Schema.

Numbers are integers; the unit of a value is that of its metric. Both files are generated from the Go types by
` + "`go test ./internal/reporting/report -update`" + `.
`

func (d *description) markdown() string {
	var b strings.Builder
	for _, t := range d.order {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Name(), d.comments[t.Name()])
		if t.NumField() == 0 {
			continue
		}
		b.WriteString("\n| field | type | always there | meaning |\n|---|---|---|---|\n")
		for _, f := range fieldsOf(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			always := "yes"
			if !alwaysThere(f.StructField, options) {
				always = ""
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, d.typeName(f.Type), always, strings.ReplaceAll(d.comments[f.owner.Name()+"."+f.Name], "|", "\\|"))
		}
	}
	return b.String()
}

func (d *description) typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.typeName(t.Elem())
	case t == reflect.TypeFor[[]byte]():
		return "base64"
	case t.Kind() == reflect.Slice:
		return "list of " + d.typeName(t.Elem())
	case t == reflect.TypeFor[metav1.Time]():
		return "time (RFC 3339)"
	case t == reflect.TypeFor[metav1.Duration]():
		return "duration"
	case t.Kind() == reflect.Struct && ours(t):
		return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
	case t.Kind() == reflect.Struct:
		return t.Name()
	case d.enums[t.Name()] != nil:
		values := make([]string, len(d.enums[t.Name()]))
		for i, value := range d.enums[t.Name()] {
			values[i] = fmt.Sprint(value)
		}
		return strings.Join(values, ", ")
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		return "integer"
	}
	return t.Kind().String()
}
