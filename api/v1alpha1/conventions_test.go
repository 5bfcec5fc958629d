package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// apiFields calls visit for every field of every struct of this package that
// becomes part of a resource, with the name "Type.Field".
func apiFields(t *testing.T, visit func(name string, field *ast.Field, tag string)) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "zz_generated") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			structure, ok := spec.Type.(*ast.StructType)
			if !ok || strings.HasSuffix(spec.Name.Name, "List") {
				return false
			}
			for _, field := range structure.Fields.List {
				if field.Tag == nil {
					t.Errorf("%s has a field without a json tag", spec.Name)
					continue
				}
				tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
				if strings.HasSuffix(tag, ",inline") || tag == "-" { // those of no object
					continue
				}
				fields++
				name := tag
				if len(field.Names) > 0 {
					name = field.Names[0].Name
				}
				visit(spec.Name.Name+"."+name, field, tag)
			}
			return false
		})
	}
	if fields < 50 {
		t.Fatalf("found only %d fields: the test does not see the API", fields)
	}
}

var camelCase = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// TestFieldConventions holds every field to the Kubernetes API conventions that
// a linter can check.
func TestFieldConventions(t *testing.T) {
	apiFields(t, func(name string, field *ast.Field, tag string) {
		jsonName, options, _ := strings.Cut(tag, ",")
		if !camelCase.MatchString(jsonName) {
			t.Errorf("%s: json name %q is not camelCase", name, jsonName)
		}
		doc := field.Doc.Text()
		comment := ""
		for _, line := range field.Doc.List {
			comment += line.Text + "\n"
		}
		if !strings.HasPrefix(doc, jsonName+" ") && !strings.HasPrefix(doc, jsonName+",") {
			t.Errorf("%s: the comment does not start with the json name %q, which is what kubectl explain shows", name, jsonName)
		}
		optional, required := strings.Contains(comment, "+optional"), strings.Contains(comment, "+required")
		if optional == required {
			t.Errorf("%s: mark the field either +optional or +required", name)
		}
		if required && strings.Contains(options, "omitempty") {
			t.Errorf("%s: a required field is never omitted", name)
		}
		switch kind := field.Type.(type) {
		case *ast.SelectorExpr:
			if kind.Sel.Name == "Duration" && options != "omitzero" && options != "" {
				t.Errorf("%s: omitempty does not leave out a Duration, so that Go clients send 0s in place of the default: use omitzero, or a pointer where 0s is allowed", name)
			}
		case *ast.ArrayType:
			if !isBytes(kind) && !strings.Contains(comment, "+listType=") {
				t.Errorf("%s: a list needs +listType, so that server-side apply can merge it", name)
			}
		case *ast.MapType:
			if strings.HasPrefix(name, "TemplateMetadata.") {
				return // In the form of any object's metadata.
			}
			t.Errorf("%s: use a list with a key instead of a map", name)
		case *ast.Ident:
			switch kind.Name {
			case "float32", "float64":
				t.Errorf("%s: no floating point in the API", name)
			case "int", "int8", "int16", "uint", "uint8", "uint16", "uint32", "uint64":
				t.Errorf("%s: use int32 or int64 instead of %s", name, kind.Name)
			}
		}
	})
}

// isBytes reports whether a field is []byte, which is a text in the API.
func isBytes(kind *ast.ArrayType) bool {
	element, ok := kind.Elt.(*ast.Ident)
	return ok && element.Name == "byte"
}

// TestSpecBounds demands a bound on every text and list that people write,
// without which the API server cannot bound the cost of a rule.
func TestSpecBounds(t *testing.T) {
	inStatus := regexp.MustCompile(`^(.*Status|Notification|NotificationDelivery|BedLease|BedReservation|CalibrationCondition|Progress|ResultRow|ResultSummary|ArchiveReference|LatencySummary|.*Environment)\.`)
	apiFields(t, func(name string, field *ast.Field, _ string) {
		if inStatus.MatchString(name) {
			return
		}
		comment := ""
		for _, line := range field.Doc.List {
			comment += line.Text + "\n"
		}
		switch kind := field.Type.(type) {
		case *ast.ArrayType:
			bound := "MaxItems="
			if isBytes(kind) {
				bound = "MaxLength="
			}
			if !strings.Contains(comment, bound) {
				t.Errorf("%s: a list in a spec needs %s", name, bound)
			}
		case *ast.Ident:
			if kind.Name == "string" && !strings.Contains(comment, "MaxLength=") && !strings.Contains(comment, "Enum=") {
				t.Errorf("%s: a text in a spec needs MaxLength", name)
			}
		}
	})
}

// TestRuleOfTestsCountsMethods checks that a test has only the fields that the rule for exactly one method counts, and that its message
// names each method.
func TestRuleOfTestsCountsMethods(t *testing.T) {
	text, err := os.ReadFile("benchmark_types.go")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`size\(dyn\(self\)\) == \(has\(self\.repetitions\) \? 3 : 2\)",message="exactly one of the fields in \[([\w ]+)\] must be set"`)
	found := rule.FindSubmatch(text)
	if found == nil {
		t.Fatal("the rule was not found")
	}
	var methods, others []string
	for field := range reflect.TypeFor[v1alpha1.Test]().Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Type.Kind() == reflect.Pointer {
			methods = append(methods, name)
		} else {
			others = append(others, name+","+options)
		}
	}
	if want := strings.Fields(string(found[1])); !slices.Equal(methods, want) {
		t.Errorf("the methods are %v, and the message names %v", methods, want)
	}
	if want := []string{"name,", "repetitions,omitempty"}; !slices.Equal(others, want) {
		t.Errorf("the other fields are %q, and the rule counts %q", others, want)
	}
}
