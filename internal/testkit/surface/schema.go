package surface

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// schema is the part of a JSON schema, or of the schema of a CustomResourceDefinition, that callers rely on.
type schema struct {
	Ref                  string            `json:"$ref"`
	ID                   string            `json:"$id"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Enum                 []any             `json:"enum"`
	Default              any               `json:"default"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	Items                *schema           `json:"items"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
	Definitions          map[string]schema `json:"definitions"`

	Maximum   *float64 `json:"maximum"`
	MaxLength *float64 `json:"maxLength"`
	MaxItems  *float64 `json:"maxItems"`
	Minimum   *float64 `json:"minimum"`
	MinLength *float64 `json:"minLength"`
	MinItems  *float64 `json:"minItems"`
}

// definition is the part of a CustomResourceDefinition that callers rely on.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
			Schema struct {
				OpenAPIV3Schema schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// Resource returns the facts of a CustomResourceDefinition in YAML.
func Resource(text []byte) (Surface, error) {
	var d definition
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
	}
	s := Surface{}
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		name := d.Spec.Names.Kind + "." + v.Name
		s.fact("resource", name, d.Spec.Group+"/"+d.Spec.Names.Plural, d.Spec.Scope)
		for _, short := range d.Spec.Names.ShortNames {
			s.fact("resource", name, "short name", short)
		}
		root := v.Schema.OpenAPIV3Schema
		if status, has := root.Properties["status"]; has {
			delete(root.Properties, "status")
			s.schema("field "+name+".status", status, reads)
		}
		s.schema("field "+name, root, writes)
	}
	return s, nil
}

// Document returns the facts of a JSON schema of documents that NoDrop writes.
func Document(name string, text []byte) (Surface, error) {
	var root schema
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("reading the schema %s: %w", name, err)
	}
	s := Surface{}
	s.fact("document", name, root.ID)
	s.schema("document "+name, root, reads)
	for _, of := range sortedKeys(root.Definitions) {
		s.schema("document "+name+" "+of, root.Definitions[of], reads)
	}
	return s, nil
}

// use is the way in which callers use the values of a schema.
type use int

const (
	// reads: members that are always there may not become optional.
	reads use = iota
	// writes: fields that may be left out may not become required.
	writes
)

// schema adds the facts of a schema at a place, and of the schemas in it.
func (s Surface) schema(place string, of schema, by use) {
	kind := of.Type
	if of.Ref != "" {
		kind = strings.TrimPrefix(of.Ref, "#/definitions/")
	}
	if of.Format != "" {
		kind += " " + of.Format
	}
	s.fact(place, "is", kind)
	for _, value := range of.Enum {
		s.fact(place, "allows", fmt.Sprint(value))
	}
	if of.Default != nil {
		text, _ := json.Marshal(of.Default)
		s.fact(place, "defaults to", string(text))
	}
	s.limits(place, of, by)
	for _, name := range sortedKeys(of.Properties) {
		below := place + "." + name
		required := slices.Contains(of.Required, name)
		if by == writes && required {
			s.fact(requires, below)
		}
		if by == reads && required {
			s.fact(below, "is always there")
		}
		s.schema(below, of.Properties[name], by)
	}
	if of.Items != nil {
		s.schema(place+"[]", *of.Items, by)
	}
	var values schema
	if len(of.AdditionalProperties) > 0 && json.Unmarshal(of.AdditionalProperties, &values) == nil {
		s.schema(place+"{}", values, by)
	}
}

// limits adds the limits of numbers, lengths and counts. They bind the writer of a resource.
func (s Surface) limits(place string, of schema, by use) {
	if by == reads {
		return
	}
	for unit, value := range map[string]*float64{"value": of.Maximum, "length": of.MaxLength, "count": of.MaxItems} {
		if value != nil {
			s.limit(atMost, place+" "+unit, *value)
		}
	}
	for unit, value := range map[string]*float64{"value": of.Minimum, "length": of.MinLength, "count": of.MinItems} {
		if value != nil {
			s.limit(atLeast, place+" "+unit, *value)
		}
	}
}

func sortedKeys(m map[string]schema) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
