package manifest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/base/spelling"
)

// Amended is the set with misspelt fields and values as they were probably meant, so that
// what they hide can be found. The problems are those of the definitions that the set itself
// does not show.
func (s *Set) Amended() (*Set, []Problem) {
	meant := &Set{recursive: s.recursive, overrides: s.overrides}
	meant.documents = collection{siblings: s.documents.siblings, unread: s.documents.unread, searched: s.documents.searched}
	var further []Problem
	for _, d := range s.documents.given {
		amended := d.amended()
		meant.documents.given = append(meant.documents.given, amended)
		known := d.check()
		for _, p := range amended.check() {
			if !slices.ContainsFunc(known, func(k Problem) bool { return k.Field == p.Field }) {
				further = append(further, p)
			}
		}
	}
	return meant, further
}

// amended is the document with misspelt fields and values as they were probably meant. Its
// object can be read also where values are left that the definition refuses.
func (d *document) amended() *document {
	kind, err := schemaOf(d.kind)
	if err != nil || kind == nil || !d.isOurs() || d.notText() != nil {
		return d
	}
	c := *d
	c.object = runtime.DeepCopyJSON(d.object)
	pruned := runtime.DeepCopyJSON(c.object)
	delete(pruned, "status")
	unknown, err := kind.prune(pruned)
	if err != nil {
		return d
	}
	for _, path := range unknown {
		if steps := splitPath(path); !c.rename(kind, steps) {
			c.incomplete = append(c.incomplete, joinPath(steps[:len(steps)-1]))
		}
	}
	object, errs := c.completed(kind)
	for _, err := range errs {
		s := schemaAt(kind.structural, err.Field)
		if s == nil || err.Type != field.ErrorTypeInvalid {
			continue
		}
		var value any
		if text := corrected(s, valueAt(object, err.Field), c.source.written(err.Field)); text != "" && yaml.Unmarshal([]byte(text), &value) == nil {
			setValue(c.object, splitPath(err.Field), normalised(value))
			c.refused = append(c.refused, err.Field)
		}
	}
	c.asMeant = true
	c.identify()
	_, errs = c.completed(kind)
	for _, err := range errs {
		c.refused = append(c.refused, err.Field)
		c.unreadable = c.unreadable || err.Type != field.ErrorTypeInvalid
	}
	return &c
}

// completed is the object with its defaults, and what the definition refuses of it.
func (d *document) completed(kind *kindSchema) (map[string]any, field.ErrorList) {
	object := runtime.DeepCopyJSON(d.object)
	delete(object, "status")
	if _, err := kind.prune(object); err != nil {
		return object, field.ErrorList{field.Invalid(field.NewPath("metadata"), nil, err.Error())}
	}
	if metadata, isObject := object["metadata"].(map[string]any); isObject && kind.namespaced && d.namespace == "" {
		metadata["namespace"] = defaultNamespace
	}
	kind.complete(object)
	return object, kind.validate(object)
}

// rename names an unknown field as the one that was probably meant. It reports false where
// there is none, or where that is given too.
func (d *document) rename(kind *kindSchema, steps []string) bool {
	var container any = d.object
	s := kind.structural
	for _, step := range steps[:len(steps)-1] {
		if container, s = valueAt(container, "["+step+"]"), child(s, step); s == nil {
			return false
		}
	}
	name := steps[len(steps)-1]
	object, isObject := container.(map[string]any)
	fields := slices.Sorted(maps.Keys(s.Properties))
	if steps[0] == "metadata" {
		fields = []string{"name", "namespace", "labels", "annotations"}
	}
	meant := spelling.Nearest(name, fields)
	if !isObject || meant == "" || object[meant] != nil {
		return false
	}
	object[meant] = object[name]
	delete(object, name)
	return true
}

// follows reports whether a problem of a field can follow from a value that the definition refuses,
// of the field itself, of one in it, or of the object that it is in; or from a field that is
// misspelt in that object.
func (d *document) follows(path string) bool {
	if d.schedule != nil {
		return d.schedule.follows(d.inSchedule(path))
	}
	within := func(outer, inner string) bool {
		return inner == outer || strings.HasPrefix(inner, outer+".") || strings.HasPrefix(inner, outer+"[")
	}
	return slices.ContainsFunc(d.refused, func(refused string) bool { return within(refused, path) || within(path, refused) }) ||
		slices.ContainsFunc(d.incomplete, func(object string) bool { return within(object, path) })
}
