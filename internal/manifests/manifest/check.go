package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/spelling"
)

// defaultNamespace is the namespace of objects that name none.
const defaultNamespace = "default"

var ownKinds = []string{"Benchmark", kindSchedule, "NotificationSink", kindReservation, "TestBed", "TrafficProfile"}

// isOurs reports whether the document is of this API group, or was probably
// meant to be.
func (d *document) isOurs() bool {
	group, _, _ := strings.Cut(d.apiVersion, "/")
	if group == v1alpha1.GroupVersion.Group {
		return true
	}
	// An apiVersion without group, and kinds in other cases and in the plural.
	return spelling.Nearest(d.kind, ownKinds) != "" && (group == "" || !strings.Contains(d.apiVersion, "/") || strings.Contains(group, "nodrop") || slices.Contains(ownKinds, d.kind))
}

func (d *document) isConfigMap() bool {
	return d.apiVersion == "v1" && d.kind == "ConfigMap"
}

// check verifies one document. Documents of kinds that a run does not need,
// such as a Namespace in the same file, are ignored.
func (d *document) check() []Problem {
	switch {
	case d.kind == "":
		return []Problem{d.problem("kind", "is missing", "a manifest begins with apiVersion and kind: the kinds are "+strings.Join(ownKinds, ", "))}
	case d.kind == "List":
		return []Problem{d.problem("kind", "List holds several objects in items, which is not read here", "write each as a document of its own, with --- between them")}
	case d.isConfigMap():
		_, problems := d.configMap()
		return problems
	case d.isOurs():
		_, problems := d.checkOurs()
		return problems
	}
	return nil
}

// checkOurs checks a document of this API group, and returns the object with its defaults filled in.
func (d *document) checkOurs() (map[string]any, []Problem) {
	if want := v1alpha1.GroupVersion.String(); d.apiVersion != want {
		return nil, []Problem{d.problem("apiVersion", fmt.Sprintf("%q is not an API of NoDrop", d.apiVersion), "write apiVersion: "+want)}
	}
	kind, err := schemaOf(d.kind)
	if err != nil {
		return nil, []Problem{d.problem("", err.Error(), "")}
	}
	if kind == nil {
		suggestion := "the kinds are " + strings.Join(ownKinds, ", ")
		if meant := spelling.Nearest(d.kind, ownKinds); meant != "" {
			suggestion = fmt.Sprintf("did you mean %q?", meant)
		}
		return nil, []Problem{d.problem("kind", fmt.Sprintf("%q is not a kind of %s", d.kind, d.apiVersion), suggestion)}
	}

	object := runtime.DeepCopyJSON(d.object)
	// A status in a file is ignored, as the API server does.
	delete(object, "status")
	if object["metadata"] == nil {
		object["metadata"] = map[string]any{}
	}
	if problems := d.notText(); problems != nil {
		return nil, problems
	}
	unknown, err := kind.prune(object)
	if err != nil {
		return nil, []Problem{d.problem("", err.Error(), "")}
	}
	var problems []Problem
	for _, path := range unknown {
		problems = append(problems, d.problem(path, "unknown field", suggestField(kind.structural, path)))
	}
	if metadata, isObject := object["metadata"].(map[string]any); isObject && kind.namespaced && d.namespace == "" {
		metadata["namespace"] = defaultNamespace
	}
	kind.complete(object)
	for _, err := range kind.validate(object) {
		if err.Field == "<nil>" {
			continue // Of a value whose type is reported.
		}
		problems = append(problems, d.explain(kind, object, err))
	}
	return object, problems
}

// notText reports names, labels and annotations that are not texts: numbers and booleans
// without quotes.
func (d *document) notText() []Problem {
	metadata, isObject := d.object["metadata"].(map[string]any)
	if !isObject {
		if d.object["metadata"] == nil {
			return nil
		}
		return []Problem{d.problem("metadata", "is not an object with fields", "write metadata: {name: NAME}")}
	}
	var problems []Problem
	check := func(path string, value any) {
		if _, isText := value.(string); !isText && value != nil {
			text := &schema.Structural{Generic: schema.Generic{Type: "string"}}
			written := d.source.written(path)
			problems = append(problems, d.problem(path, wrongType(text, value, written), "write "+strconv.Quote(written)))
		}
	}
	for _, member := range []string{"name", "namespace"} {
		check("metadata."+member, metadata[member])
	}
	for _, member := range []string{"labels", "annotations"} {
		pairs, isMap := metadata[member].(map[string]any)
		if !isMap && metadata[member] != nil {
			problems = append(problems, d.problem("metadata."+member, "is not an object with fields", "write metadata: {"+member+": {KEY: VALUE}}"))
		}
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			check("metadata."+member+"["+key+"]", pairs[key])
		}
	}
	return problems
}

// into converts the checked document into its Go type.
func (d *document) into(target any) []Problem {
	object, problems := d.checkOurs()
	if problems != nil && (!d.asMeant || d.unreadable) {
		return problems
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, target); err != nil {
		return []Problem{d.problem("", err.Error(), "")}
	}
	return nil
}

var unknownConfigMapField = regexp.MustCompile(`unknown field "([^"]+)"`)

func (d *document) configMap() (*corev1.ConfigMap, []Problem) {
	var configMap corev1.ConfigMap
	if err := yaml.UnmarshalStrict(d.source.text, &configMap); err != nil {
		if m := unknownConfigMapField.FindStringSubmatch(err.Error()); m != nil {
			suggestion := "the fields here are data, binaryData, immutable"
			if meant := spelling.Nearest(m[1], []string{"data", "binaryData", "immutable", "metadata"}); meant != "" {
				suggestion = fmt.Sprintf("did you mean %q?", meant)
			}
			return nil, []Problem{d.problem(m[1], "unknown field", suggestion)}
		}
		return nil, []Problem{d.problem("", strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: "), "every value under data is a text")}
	}
	if configMap.Namespace == "" {
		configMap.Namespace = defaultNamespace
	}
	var problems []Problem
	for _, err := range apivalidation.ValidateObjectMeta(&configMap.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		problems = append(problems, d.problem(err.Field, err.ErrorBody(), ""))
	}
	return &configMap, problems
}
