package jsonstream

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// member is a field of a struct with its name as JSON.
type member struct {
	name  string
	value reflect.Value
}

// membersOf are the members of a struct as JSON, in the order of the fields.
func membersOf(v reflect.Value) []member {
	var all []member
	for i := range v.NumField() {
		name, options := nameOf(v.Type().Field(i))
		if name == "" || strings.Contains(options, "omitempty") && isEmpty(v.Field(i)) {
			continue
		}
		all = append(all, member{name, v.Field(i)})
	}
	return all
}

// isEmpty reports whether omitempty leaves a value out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isList reports whether values of a type are lists of objects.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && !marshals(t)
}

// isDivisible reports whether values of a type are objects that can be written member by member,
// and have a list of objects, so that this saves memory.
func isDivisible(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || marshals(t) {
		return false
	}
	large := false
	for i := range t.NumField() {
		f := t.Field(i)
		_, options := nameOf(f)
		if f.Anonymous || strings.Contains(options, "omitzero") || strings.Contains(options, "string") {
			return false
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		large = large || isList(of) || isDivisible(of)
	}
	return large
}

// marshals reports whether a type makes its JSON itself.
func marshals(t reflect.Type) bool {
	for _, of := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(of) || reflect.PointerTo(t).Implements(of) {
			return true
		}
	}
	return false
}

// fieldOf is the field of a struct for a member.
func fieldOf(t reflect.Type, member string) (int, bool) {
	for i := range t.NumField() {
		if name, _ := nameOf(t.Field(i)); name == member {
			return i, true
		}
	}
	return 0, false
}

// nameOf is the name of a field as a member, which is empty if it is none, and the options of its tag.
func nameOf(f reflect.StructField) (name, options string) {
	name, options, _ = strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" && options == "" || !f.IsExported() {
		return "", ""
	}
	if name == "" {
		name = f.Name
	}
	return name, options
}
