package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/spelling"
)

// Override is a value in place of one that the manifests give.
type Override struct {
	// text as it was given.
	text string
	kind string
	path string
	// value is YAML.
	value string
}

// kindsOfOverrides are the kinds by the words that a path begins with: their names and
// short names in kubectl.
var kindsOfOverrides = map[string]string{
	"benchmark": "Benchmark", "bm": "Benchmark", "trafficprofile": "TrafficProfile", "tp": "TrafficProfile", "profile": "TrafficProfile",
	"testbed": "TestBed", "bed": "TestBed", "benchmarkschedule": kindSchedule, "bmsched": kindSchedule, "schedule": kindSchedule,
}

// ParseOverride reads PATH=VALUE. The path begins with the kind in lower case or its short
// name in kubectl, and items of a list are named by their index or their name:
// benchmark.spec.tests[throughput].throughput.trialDuration=5s. The value is YAML.
func ParseOverride(text string) (Override, error) {
	const example = "such as benchmark.spec.tests[0].throughput.trialDuration=5s or profile.spec.frameSizes=[64,1518]"
	path, value, found := strings.Cut(text, "=")
	if !found {
		return Override{}, fmt.Errorf("%q is not PATH=VALUE, %s", text, example)
	}
	first, rest, _ := strings.Cut(path, ".")
	kind, known := kindsOfOverrides[strings.ToLower(first)]
	if !known {
		words := slices.Sorted(maps.Keys(kindsOfOverrides))
		err := fmt.Errorf("%q begins with %q, which is no kind: begin with benchmark, profile or bed, %s", text, first, example)
		if first == "spec" || first == "metadata" {
			return Override{}, hint.With(err, "did you mean benchmark."+text+"?")
		}
		if meant := spelling.Nearest(first, words); meant != "" {
			return Override{}, hint.With(err, fmt.Sprintf("did you mean %s.%s=%s?", meant, rest, value))
		}
		return Override{}, err
	}
	if rest == "" {
		return Override{}, fmt.Errorf("%q names no field, %s", text, example)
	}
	return Override{text: text, kind: kind, path: rest, value: value}, nil
}

// override changes the document as it is asked for, once.
func (d *document) override(overrides []Override) error {
	if d.overridden != nil {
		return nil
	}
	d.overridden = map[string]string{}
	for _, o := range overrides {
		if o.kind != d.kind {
			continue
		}
		if err := d.set(o); err != nil {
			return fmt.Errorf("--set %s: %w", o.text, err)
		}
	}
	return nil
}

func (d *document) set(o Override) error {
	kind, err := schemaOf(d.kind)
	if err != nil {
		return err
	}
	var value any
	if err := yaml.Unmarshal([]byte(o.value), &value); err != nil {
		return fmt.Errorf("the value is not YAML: %w", err)
	}
	steps, err := d.resolveSteps(kind.structural, o)
	if err != nil {
		return err
	}
	var node yamlnode.Node
	if err := yamlnode.Unmarshal([]byte(o.value), &node); err != nil || len(node.Content) != 1 {
		node = yamlnode.Node{Content: []*yamlnode.Node{{Kind: yamlnode.ScalarNode, Tag: "!!str", Value: o.value}}}
	}
	setValue(d.object, steps, normalised(value))
	setNode(d.source.root(), steps, node.Content[0])
	d.overridden[joinPath(steps)] = o.text
	return nil
}

// resolveSteps turns the path of an override into fields and indexes, and refuses what
// the schema does not have.
func (d *document) resolveSteps(s *schema.Structural, o Override) ([]string, error) {
	var done []string
	word, _, _ := strings.Cut(o.text, ".")
	var value any = d.object
	for _, step := range splitPath(o.path) {
		at := word
		if len(done) > 0 {
			at += "." + joinPath(done)
		}
		if items, isList := value.([]any); s.Type == "array" || isList {
			index, err := itemOf(items, step)
			if err != nil {
				return nil, fmt.Errorf("%s has no item [%s]: %w", at, step, err)
			}
			step = strconv.Itoa(index)
		} else if _, known := s.Properties[step]; !known && s.AdditionalProperties == nil && len(s.Properties) > 0 {
			return nil, hint.With(fmt.Errorf("%s has no field %q", at, step), nearestPath(s, at, step))
		}
		if s = child(s, step); s == nil {
			return nil, fmt.Errorf("%s has no fields", at)
		}
		done = append(done, step)
		value = valueAt(value, "["+step+"]")
	}
	return done, nil
}

// nearestPath names the path that was probably meant by an unknown field.
func nearestPath(s *schema.Structural, at, step string) string {
	fields := slices.Sorted(maps.Keys(s.Properties))
	if meant := spelling.Nearest(step, fields); meant != "" {
		return fmt.Sprintf("did you mean %s.%s?", at, meant)
	}
	for word, kind := range map[string]string{"benchmark": "Benchmark", "profile": "TrafficProfile", "bed": "TestBed"} {
		other, err := schemaOf(kind)
		if err == nil && strings.HasSuffix(at, ".spec") && strings.Count(at, ".") == 1 && schemaAt(other.structural, "spec."+step) != nil {
			return fmt.Sprintf("did you mean %s.spec.%s?", word, step)
		}
	}
	var below []string
	for _, name := range fields {
		if name == "metadata" {
			continue
		}
		property := s.Properties[name]
		if _, has := property.Properties[step]; has {
			below = append(below, at+"."+name+"."+step)
		}
	}
	if len(below) > 0 {
		return fmt.Sprintf("did you mean %s?", strings.Join(below, " or "))
	}
	return "the fields of " + at + " are " + strings.Join(fields, ", ")
}

// itemOf is the index of an item that is named by its index or its name.
func itemOf(items []any, step string) (int, error) {
	var names []string
	for i, item := range items {
		object, _ := item.(map[string]any)
		if name, _ := object["name"].(string); name != "" {
			if name == step {
				return i, nil
			}
			names = append(names, fmt.Sprintf("[%s]", name))
		}
	}
	if i := indexOf(step); i >= 0 && i < len(items) {
		return i, nil
	}
	switch {
	case len(items) == 0:
		return 0, fmt.Errorf("the list is empty: give all of it, as in =[a, b]")
	case len(names) > 0:
		return 0, fmt.Errorf("give %s, or an index from 0 to %d", strings.Join(names, ", "), len(items)-1)
	}
	return 0, fmt.Errorf("give an index from 0 to %d", len(items)-1)
}

// setValue puts a value at a path, and makes the objects on the way that are missing.
func setValue(container any, steps []string, value any) {
	step, last := steps[0], len(steps) == 1
	switch container := container.(type) {
	case map[string]any:
		if last {
			container[step] = value
			return
		}
		if container[step] == nil {
			container[step] = map[string]any{}
		}
		setValue(container[step], steps[1:], value)
	case []any:
		if i := indexOf(step); last {
			container[i] = value
		} else {
			setValue(container[i], steps[1:], value)
		}
	}
}

// setNode does the same with what stands in the file, so that messages quote it.
func setNode(node *yamlnode.Node, steps []string, value *yamlnode.Node) {
	for i, step := range steps {
		_, next := enter(node, step)
		if i == len(steps)-1 {
			if next != nil {
				value.Line = next.Line
				*next = *value
			} else if node != nil && node.Kind == yamlnode.MappingNode {
				value.Line = node.Line
				node.Content = append(node.Content, &yamlnode.Node{Kind: yamlnode.ScalarNode, Value: step, Line: node.Line}, value)
			}
			return
		}
		if next == nil {
			if node == nil || node.Kind != yamlnode.MappingNode {
				return
			}
			key := &yamlnode.Node{Kind: yamlnode.ScalarNode, Value: step, Line: node.Line}
			next = &yamlnode.Node{Kind: yamlnode.MappingNode, Line: key.Line}
			node.Content = append(node.Content, key, next)
		}
		node = next
	}
}

// joinPath is the inverse of splitPath.
func joinPath(steps []string) string {
	var b strings.Builder
	for i, step := range steps {
		switch {
		case indexOf(step) >= 0:
			b.WriteString("[" + step + "]")
		case i > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}
