package admission

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const unchangeable = "a Benchmark cannot be changed after it was admitted (only abort and ttlSecondsAfterFinished can be set, and suspend be taken back): " +
	"apply it again under another name"

// maxChanges is the maximum number of changed fields that a refusal names.
const maxChanges = 8

// specChanges returns an error for each changed field of a spec that cannot change, at most maxChanges. Values are compared
// by their meaning: 60s is 1m0s, as which clients in Go write it.
func specChanges(was, is *v1alpha1.BenchmarkSpec) field.ErrorList {
	before := *was
	// The schema has the rules of these.
	before.Abort, before.Suspend, before.TTLSecondsAfterFinished = is.Abort, is.Suspend, is.TTLSecondsAfterFinished
	var changes field.ErrorList
	compare(field.NewPath("spec"), reflect.ValueOf(before), reflect.ValueOf(*is), func(path *field.Path, was, is string) {
		if len(changes) < maxChanges {
			changes = append(changes, field.Forbidden(path, fmt.Sprintf("was %s, is %s: %s", was, is, unchangeable)))
		}
	})
	return changes
}

// compare calls changed for each field in which two values of one type differ, with what it was and is.
func compare(path *field.Path, before, after reflect.Value, changed func(path *field.Path, was, is string)) {
	if equality.Semantic.DeepEqual(before.Interface(), after.Interface()) {
		return
	}
	kind := before.Kind()
	switch {
	case kind == reflect.Pointer && !before.IsNil() && !after.IsNil():
		compare(path, before.Elem(), after.Elem(), changed)
	case kind == reflect.Struct && !isOneValue(before):
		for i := range before.NumField() {
			at := path
			if name, _, _ := strings.Cut(before.Type().Field(i).Tag.Get("json"), ","); name != "" {
				at = path.Child(name)
			}
			compare(at, before.Field(i), after.Field(i), changed)
		}
	case kind == reflect.Slice && before.Len() == after.Len():
		for i := range before.Len() {
			compare(path.Index(i), before.Index(i), after.Index(i), changed)
		}
	default:
		changed(path, shown(before), shown(after))
	}
}

// isOneValue reports whether a struct is one text or number as JSON, such as a duration.
func isOneValue(v reflect.Value) bool {
	_, marshals := reflect.New(v.Type()).Interface().(json.Marshaler)
	return marshals
}

// maxShown is the maximum length of a value in a refusal, in bytes.
const maxShown = 64

// shown returns a value as JSON, or the number of its items.
func shown(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.String:
		if v.IsZero() {
			return "absent"
		}
	case reflect.Slice:
		if v.Len() == 1 {
			return "1 item"
		}
		return fmt.Sprintf("%d items", v.Len())
	}
	text, err := json.Marshal(v.Interface())
	if err != nil || len(text) > maxShown {
		return fmt.Sprintf("a value of %d bytes", len(text))
	}
	return string(text)
}
