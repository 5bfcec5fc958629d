package manifest

import (
	"context"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// rules checks values by the CEL rules of a part of a schema. Compiling all rules of a kind takes longer than a simulated
// benchmark, and an object has few of the fields: rules are compiled when a value that they check is first seen.
type rules struct {
	// own is the validator of the rules at this part itself; nil if it has none.
	own func() *cel.Validator
	// properties, items and values are the parts for fields, entries of lists and values of maps; nil where no rule is.
	properties    map[string]*rules
	items, values *rules
}

// newRules returns the rules of a schema, nil if it has none. Root reports whether it is the schema of a whole object.
func newRules(s *schema.Structural, root bool) *rules {
	if s == nil {
		return nil
	}
	r := &rules{properties: map[string]*rules{}, items: newRules(s.Items, false)}
	for name, property := range s.Properties {
		if of := newRules(&property, false); of != nil {
			r.properties[name] = of
		}
	}
	if s.AdditionalProperties != nil {
		r.values = newRules(s.AdditionalProperties.Structural, false)
	}
	if own := creationRules(s); len(own) > 0 {
		r.own = sync.OnceValue(func() *cel.Validator {
			alone := withoutRules(s)
			alone.XValidations = own
			return cel.NewValidator(alone, root || s.XEmbeddedResource, celconfig.PerCallLimit)
		})
	}
	if r.own == nil && r.items == nil && r.values == nil && len(r.properties) == 0 {
		return nil
	}
	return r
}

// creationRules are the rules of a schema that hold for new objects. Others compare an object with what it was.
func creationRules(s *schema.Structural) apiextensionsv1.ValidationRules {
	var all apiextensionsv1.ValidationRules
	for _, rule := range s.XValidations {
		if optional := rule.OptionalOldSelf; optional != nil && *optional || !strings.Contains(rule.Rule, "oldSelf") {
			all = append(all, rule)
		}
	}
	return all
}

// withoutRules copies a schema without any rule.
func withoutRules(s *schema.Structural) *schema.Structural {
	plain := *s
	plain.XValidations = nil
	if s.Items != nil {
		plain.Items = withoutRules(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		plain.AdditionalProperties = &schema.StructuralOrBool{Structural: withoutRules(s.AdditionalProperties.Structural)}
	}
	if len(s.Properties) > 0 {
		plain.Properties = make(map[string]schema.Structural, len(s.Properties))
		for name, property := range s.Properties {
			plain.Properties[name] = *withoutRules(&property)
		}
	}
	return &plain
}

// validate returns the errors of a value, and what is left of the cost that may be spent on rules.
func (r *rules) validate(ctx context.Context, path *field.Path, value any, budget int64) (errs field.ErrorList, left int64) {
	left = budget
	if r == nil || value == nil {
		return nil, left
	}
	if r.own != nil {
		errs, left = r.own().Validate(ctx, path, nil, value, nil, left)
	}
	check := func(part *rules, path *field.Path, value any) {
		if part == nil || left < 0 {
			return
		}
		var more field.ErrorList
		more, left = part.validate(ctx, path, value, left)
		errs = append(errs, more...)
	}
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			check(r.items, path.Index(i), item)
		}
	case map[string]any:
		for name, member := range value {
			if property, found := r.properties[name]; found {
				check(property, path.Child(name), member)
			} else if r.values != nil {
				check(r.values, path.Key(name), member)
			}
		}
	}
	return errs, left
}
