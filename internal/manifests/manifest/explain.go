package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	yamlnode "go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/internal/base/spelling"
)

// explain turns what a schema says of an object into a problem with a remedy. The text
// is that of the API server but for values of a wrong type, which it says without their
// value.
func (d *document) explain(kind *kindSchema, object map[string]any, err *field.Error) Problem {
	s := schemaAt(kind.structural, err.Field)
	value, written := valueAt(object, err.Field), d.source.written(err.Field)
	if s == nil {
		s = &schema.Structural{}
	}
	text := err.ErrorBody()
	if err.Type == field.ErrorTypeTypeInvalid {
		text = wrongType(s, value, written)
	}
	return d.problem(err.Field, text, d.remedy(s, value, written, err))
}

// remedy returns what to do about an error; empty if the error's message contains it.
func (d *document) remedy(s *schema.Structural, value any, written string, err *field.Error) string {
	switch err.Type {
	case field.ErrorTypeTypeInvalid:
		return d.rightType(s, err.Field, value, written)
	case field.ErrorTypeRequired:
		return missing(err.Field, s)
	case field.ErrorTypeNotSupported:
		return supported(s, value)
	case field.ErrorTypeDuplicate:
		return "keep one of the two, or change one"
	case field.ErrorTypeTooMany:
		return "remove some"
	}
	if text := oneOfFields(err.Detail, s, value, d.source.nodeAt(err.Field)); text != "" {
		return text
	}
	if text := outOfBounds(s, value); text != "" {
		return text
	}
	meant := corrected(s, value, written)
	if strings.HasPrefix(err.Field, "metadata.name") {
		meant = asName(written)
	}
	question := ""
	if meant != "" && meant != written {
		question = fmt.Sprintf("did you mean %s?", meant)
	}
	text, isText := value.(string)
	switch {
	case !isText || err.Type != field.ErrorTypeTooLong:
		return question
	case question == "":
		question = "shorten it"
	}
	return fmt.Sprintf("%q has %d: %s", text, len(text), question)
}

// typeNames are the types of a schema in words.
var typeNames = map[string]string{
	"string": "a string", "integer": "a whole number", "boolean": "true or false", "array": "a list", "object": "an object with fields",
}

// wrongType describes the type of a value and the type that is needed.
func wrongType(s *schema.Structural, value any, written string) string {
	want := typeNames[s.Type]
	if v := s.ValueValidation; v != nil && v.Minimum != nil && v.Maximum != nil {
		want += fmt.Sprintf(" from %.0f to %.0f", *v.Minimum, *v.Maximum)
	}
	switch value := value.(type) {
	case nil:
		return fmt.Sprintf("has no value, and %s is needed", want)
	case bool:
		if s.Type == "string" && written != fmt.Sprint(value) {
			return fmt.Sprintf("Invalid value: %s: YAML reads %s without quotes as %t, and %s is needed", written, written, value, want)
		}
		return fmt.Sprintf("Invalid value: %s: is a boolean, and %s is needed", written, want)
	case string:
		return fmt.Sprintf("Invalid value: %q: is a string, and %s is needed", value, want)
	case []any:
		return fmt.Sprintf("is a list, and %s is needed", want)
	case map[string]any:
		return fmt.Sprintf("has the fields %s, and %s is needed", strings.Join(slices.Sorted(maps.Keys(value)), ", "), want)
	}
	return fmt.Sprintf("Invalid value: %s: is a number, and %s is needed", written, want)
}

// rightType returns what to write in place of a value of a wrong type.
func (d *document) rightType(s *schema.Structural, path string, value any, written string) string {
	if one := d.source.decimalComma(path); one != "" {
		return fmt.Sprintf("a comma begins the next value: write %s with a point", one)
	}
	if length, err := time.ParseDuration(written); err == nil && s.Type == "integer" && strings.HasSuffix(path, "Seconds") {
		return fmt.Sprintf("write %d", int64(length.Seconds()))
	}
	if meant := corrected(s, value, written); meant != "" {
		return "write " + meant
	}
	if items, isList := value.([]any); isList && len(items) == 1 && accepts(s, items[0]) {
		return "write " + asYAML(items[0]) + " without the brackets or the dash"
	}
	switch s.Type {
	case "object":
		if accepts(s, map[string]any{}) && len(s.Properties) > 0 {
			return "write {} for the defaults; the fields here are " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
		}
		return "the fields here are " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
	case "array":
		return "write the values in brackets, or each on a line of its own after a dash"
	}
	return purpose(s)
}

// decimalComma returns a number with a comma that was read as two items of a list, such
// as 0,5%; empty where there is none.
func (s *source) decimalComma(path string) string {
	list, index, found := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	node := s.nodeAt(path[:strings.LastIndexByte(path, '.')+1] + list)
	i := indexOf(strings.TrimSuffix(index, "]"))
	if !found || node == nil || i < 0 || i+1 >= len(node.Content) {
		return ""
	}
	a, b := node.Content[i], node.Content[i+1]
	if a.Line != b.Line || b.Column != a.Column+len(a.Value)+1 || numberAndUnit.FindString(b.Value) == "" || leadingNumber(b.Value) == b.Value {
		return ""
	}
	return a.Value + "," + b.Value
}

// purpose is the first sentence of the documentation of a field.
func purpose(s *schema.Structural) string {
	text, _, _ := strings.Cut(strings.ReplaceAll(s.Description, "\n", " "), ". ")
	return strings.TrimSuffix(text, ".")
}

// missing returns what to write in a field that is required.
func missing(path string, s *schema.Structural) string {
	if path == "spec" {
		return "write spec: on a line of its own, without a space before it, and indent what belongs to it"
	}
	if path == "metadata.name" {
		return "add metadata: {name: NAME}"
	}
	if text := purpose(s); text != "" {
		return "add it: " + text
	}
	return "add it"
}

// supported names the value of an enumeration that was probably meant.
func supported(s *schema.Structural, value any) string {
	text, isText := value.(string)
	if !isText || s.ValueValidation == nil {
		return ""
	}
	var names []string
	for _, one := range s.ValueValidation.Enum {
		if name, isText := one.Object.(string); isText {
			names = append(names, name)
		}
	}
	if meant := spelling.Nearest(text, names); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return "write one of them"
}

var exactlyOne = regexp.MustCompile(`^exactly one of the fields in \[([^\]]*)\] must be set`)

// oneOfFields describes which fields of a union are given.
func oneOfFields(detail string, s *schema.Structural, value any, node *yamlnode.Node) string {
	m := exactlyOne.FindStringSubmatch(detail)
	object, isObject := value.(map[string]any)
	if m == nil || !isObject {
		return ""
	}
	var given []string
	for name := range strings.FieldsSeq(m[1]) {
		if _, has := object[name]; has {
			given = append(given, name)
		} else if _, written := enter(node, name); written != nil && written.Tag == "!!null" {
			if s.Properties[name].Type == "object" {
				return fmt.Sprintf("%s has no value: write %s: {}, or indent its fields", name, name)
			}
			return fmt.Sprintf("%s has no value: write one after the colon", name)
		}
	}
	if len(given) == 0 {
		return "none is given: add one of them"
	}
	return fmt.Sprintf("%s are given: keep one of them", strings.Join(given, " and "))
}

// outOfBounds describes how to change a number that is too high or too low.
func outOfBounds(s *schema.Structural, value any) string {
	n, isNumber := value.(int64)
	if v := s.ValueValidation; isNumber && v != nil {
		switch {
		case v.Maximum != nil && float64(n) > *v.Maximum:
			return fmt.Sprintf("lower it to %.0f", *v.Maximum)
		case v.Minimum != nil && float64(n) < *v.Minimum:
			return fmt.Sprintf("raise it to %.0f", *v.Minimum)
		}
	}
	return ""
}

// schemaAt is the schema of a field, nil where there is none.
func schemaAt(s *schema.Structural, path string) *schema.Structural {
	for _, step := range splitPath(path) {
		if s = child(s, step); s == nil {
			return nil
		}
	}
	return s
}

// valueAt is the value of a field, nil where there is none.
func valueAt(value any, path string) any {
	for _, step := range splitPath(path) {
		switch container := value.(type) {
		case map[string]any:
			value = container[step]
		case []any:
			i := indexOf(step)
			if i < 0 || i >= len(container) {
				return nil
			}
			value = container[i]
		default:
			return nil
		}
	}
	return value
}
