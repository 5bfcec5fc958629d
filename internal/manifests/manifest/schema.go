package manifest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/charts"
)

// kindSchema checks objects of one kind by its CustomResourceDefinition.
type kindSchema struct {
	kind       string
	namespaced bool
	structural *schema.Structural
	values     validation.SchemaValidator
	rules      *rules
}

// kindSchemas are parsed and compiled when they are first needed: a command needs few of them, and parsing them all takes longer
// than most commands.
var kindSchemas = sync.OnceValues(func() (map[string]func() (*kindSchema, error), error) {
	names, err := fs.Glob(charts.Files, path.Join(charts.Definitions, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing the built-in definitions: %w", err)
	}
	byKind := map[string]func() (*kindSchema, error){}
	for _, name := range names {
		text, err := charts.Files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the built-in definition %s: %w", name, err)
		}
		kind := kindDefined(text)
		byKind[kind] = sync.OnceValues(func() (*kindSchema, error) {
			var definition apiextensionsv1.CustomResourceDefinition
			if err := yaml.UnmarshalStrict(text, &definition); err != nil {
				return nil, fmt.Errorf("parsing the built-in definition %s: %w", name, err)
			}
			if definition.Spec.Names.Kind != kind {
				return nil, fmt.Errorf("the built-in definition %s is of kind %s, and its text of %q", name, definition.Spec.Names.Kind, kind)
			}
			return compileSchema(&definition)
		})
	}
	return byKind, nil
})

// kindDefined returns spec.names.kind of the text of a definition as controller-gen writes it.
func kindDefined(text []byte) string {
	_, after, _ := bytes.Cut(text, []byte("\n  names:\n"))
	_, after, _ = bytes.Cut(after, []byte("\n    kind: "))
	kind, _, _ := bytes.Cut(after, []byte("\n"))
	return string(kind)
}

// schemaOf returns the schema of a kind of this API group, nil for a kind that
// the group does not have.
func schemaOf(kind string) (*kindSchema, error) {
	byKind, err := kindSchemas()
	if err != nil {
		return nil, err
	}
	compile, found := byKind[kind]
	if !found {
		return nil, nil
	}
	return compile()
}

// Structural returns the schema of a kind of NoDrop.
func Structural(kind string) (*schema.Structural, error) {
	s, err := schemaOf(kind)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("NoDrop has no kind %s", kind)
	}
	return s.structural, nil
}

func compileSchema(definition *apiextensionsv1.CustomResourceDefinition) (*kindSchema, error) {
	kind := definition.Spec.Names.Kind
	for _, version := range definition.Spec.Versions {
		if version.Name != v1alpha1.GroupVersion.Version {
			continue
		}
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return nil, fmt.Errorf("converting the schema of %s: %w", kind, err)
		}
		structural, err := schema.NewStructural(&props)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
		}
		values, _, err := validation.NewSchemaValidator(&props)
		if err != nil {
			return nil, fmt.Errorf("compiling the schema of %s: %w", kind, err)
		}
		return &kindSchema{
			kind:       kind,
			namespaced: definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
			structural: structural,
			values:     values,
			rules:      newRules(structural, true),
		}, nil
	}
	return nil, fmt.Errorf("the built-in definition of %s has no version %s", kind, v1alpha1.GroupVersion.Version)
}

// prune removes fields that the schema does not have, and returns their paths.
func (s *kindSchema) prune(object map[string]any) (unknown []string, err error) {
	unknown = pruning.PruneWithOptions(object, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	_, _, meta, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return append(unknown, meta...), nil
}

// complete fills in the defaults.
func (s *kindSchema) complete(object map[string]any) {
	defaulting.Default(object, s.structural)
}

// validate returns the errors that the API server would return when the object is created.
func (s *kindSchema) validate(object map[string]any) field.ErrorList {
	u := &unstructured.Unstructured{Object: object}
	errs := apivalidation.ValidateObjectMetaAccessor(u, s.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, object, s.values)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if hidesRules(errs) {
		return errs
	}
	byRules, _ := s.rules.validate(context.Background(), nil, object, celconfig.RuntimeCELCostBudget)
	return append(errs, byRules...)
}

// hidesRules reports whether the errors are such that CEL rules, which rely on
// types and required fields, cannot be evaluated.
func hidesRules(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
