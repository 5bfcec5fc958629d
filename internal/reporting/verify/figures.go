package verify

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// raw are the members of a series that contain counts, from which its figures are recomputed.
var raw = []string{"endNs", "sentFrames", "receivedFrames", "minFrames", "minNs", "maxFrames", "maxNs"}

func isRaw(owner reflect.Type, name string) bool {
	return (owner == reflect.TypeFor[v1alpha1.RatePoints]() || owner == reflect.TypeFor[v1alpha1.RateSeries]()) && slices.Contains(raw, name)
}

// figures returns the numbers and answers of a row by their paths in JSON, without its identity
// and its trials. An answer is 1 for yes and 0 for no. Numbers that are absent have no path.
func figures(row *v1alpha1.ResultRow) (paths []string, values map[string]int64) {
	values = map[string]int64{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				switch {
				case isRaw(v.Type(), name): // as the trials
				case !f.IsExported() || f.Type == reflect.TypeFor[*v1alpha1.TrialLog]() || f.Type == reflect.TypeFor[v1alpha1.RowID]():
				case f.Anonymous || options == "inline":
					walk(v.Field(i), path)
				default:
					walk(v.Field(i), strings.TrimPrefix(path+"."+name, "."))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Int32, reflect.Int64:
			paths, values[path] = append(paths, path), v.Int()
		case reflect.Bool:
			paths, values[path] = append(paths, path), 0
			if v.Bool() {
				values[path] = 1
			}
		}
	}
	walk(reflect.ValueOf(row).Elem(), "")
	return paths, values
}

// fieldOf returns a path without the positions in lists.
func fieldOf(path string) string {
	var b strings.Builder
	for rest := path; ; {
		before, after, found := strings.Cut(rest, "[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("[]")
		_, rest, _ = strings.Cut(after, "]")
	}
}
