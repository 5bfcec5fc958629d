package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Object is an object of this API group that was given, as it is written.
type Object struct {
	File, Kind, Name string
	// Namespace is empty where none is written.
	Namespace string
	// Content has no defaults and no status, so that who applies it owns what is written and
	// nothing else.
	Content map[string]any
}

// Objects are the objects of this API group that were given, in their order, with the
// overrides, checked by their definitions. What they refer to is not looked for.
func (s *Set) Objects() ([]Object, error) {
	var all []Object
	var problems []Problem
	for _, d := range s.documents.given {
		if d.apiVersion != v1alpha1.GroupVersion.String() || !slices.Contains(ownKinds, d.kind) {
			continue
		}
		if err := d.override(s.overrides); err != nil {
			return nil, err
		}
		if _, wrong := d.checkOurs(); wrong != nil {
			problems = append(problems, wrong...)
			continue
		}
		content := runtime.DeepCopyJSON(d.object)
		delete(content, "status")
		all = append(all, Object{File: d.source.file, Kind: d.kind, Name: d.name, Namespace: d.namespace, Content: content})
	}
	if problems != nil {
		return nil, &InvalidError{Problems: problems}
	}
	return all, nil
}
