package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"nodrop.dev/nodrop/internal/base/spelling"
)

// replaced are fields of earlier versions, and what to write in their place.
var replaced = map[string]string{
	"spec.allowedNamespaces": "access has replaced it, with a list of grants: write access: [{names: [TEAM]}]",
}

// suggestField returns the field that was probably meant by an unknown one: the field that
// replaced it, a field of the same object with a similar name, a field of the same name
// elsewhere, or one of the fields that the object has.
func suggestField(root *schema.Structural, path string) string {
	steps := splitPath(path)
	if len(steps) == 0 {
		return ""
	}
	name := steps[len(steps)-1]
	if now, known := replaced[path]; known {
		return now
	}
	if name == "spec" {
		return "spec is on the level of metadata: write it at the beginning of a line"
	}
	parent := root
	for _, step := range steps[:len(steps)-1] {
		if parent = child(parent, step); parent == nil {
			return ""
		}
	}
	fields := slices.Sorted(maps.Keys(parent.Properties))
	if spec := root.Properties["spec"]; len(steps) == 1 {
		if slices.Contains([]string{"name", "namespace", "labels", "annotations"}, name) {
			return "this field belongs to metadata: write it below metadata, with two spaces before it"
		}
		if _, indented := spec.Properties[name]; indented {
			return "this field belongs to spec: write it below spec, with two spaces before it"
		}
	}
	if meant := spelling.Nearest(name, fields); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	var elsewhere []string
	findField(root, name, "", &elsewhere)
	switch {
	case len(elsewhere) > 0:
		return "this field belongs to " + strings.Join(elsewhere, " or ")
	case len(fields) > 0:
		return "the fields here are " + strings.Join(fields, ", ")
	}
	return "there are no fields here"
}

// findField collects the paths of the objects in spec that have a field.
func findField(s *schema.Structural, name, path string, found *[]string) {
	if _, has := s.Properties[name]; has && path != "" {
		*found = append(*found, path)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if path == "" && key != "spec" {
			continue
		}
		property := s.Properties[key]
		findField(&property, name, strings.TrimPrefix(path+"."+key, "."), found)
	}
	if s.Items != nil {
		findField(s.Items, name, path+"[]", found)
	}
}

func child(s *schema.Structural, step string) *schema.Structural {
	if property, found := s.Properties[step]; found {
		return &property
	}
	if s.Items != nil {
		return s.Items
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// splitPath divides a field path into names and indexes: spec.tests[0].name is
// spec, tests, 0, name.
func splitPath(path string) []string {
	var steps []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			index, rest, _ := strings.Cut(path[1:], "]")
			steps, path = append(steps, index), rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, path[:end]), path[end:]
		}
	}
	return steps
}
