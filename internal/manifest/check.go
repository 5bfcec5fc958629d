package manifest

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// defaultNamespace is the namespace of objects that name none.
const defaultNamespace = "default"

var ownKinds = []string{"Benchmark", "TestBed", "TrafficProfile"}

// isOurs reports whether the document is of this API group, or was probably
// meant to be.
func (d *document) isOurs() bool {
	group, _, _ := strings.Cut(d.apiVersion, "/")
	if group == v1alpha1.GroupVersion.Group {
		return true
	}
	for _, kind := range ownKinds {
		if d.kind == kind {
			return true
		}
	}
	return false
}

func (d *document) isConfigMap() bool {
	return d.apiVersion == "v1" && d.kind == "ConfigMap"
}

// check verifies one document. Documents of kinds that a run does not need,
// such as a Namespace in the same file, are ignored.
func (d *document) check() []Problem {
	switch {
	case d.kind == "":
		return []Problem{d.problem("kind", "is missing", "a manifest begins with apiVersion and kind")}
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
		return nil, []Problem{d.problem("apiVersion", fmt.Sprintf("%q is not an API of NoDrop", d.apiVersion), "write "+want)}
	}
	kind, err := schemaOf(d.kind)
	if err != nil {
		return nil, []Problem{d.problem("", err.Error(), "")}
	}
	if kind == nil {
		suggestion := "the kinds are " + strings.Join(ownKinds, ", ")
		if meant := nearest(d.kind, ownKinds); meant != "" {
			suggestion = fmt.Sprintf("did you mean %q?", meant)
		}
		return nil, []Problem{d.problem("kind", fmt.Sprintf("%q is not a kind of %s", d.kind, d.apiVersion), suggestion)}
	}

	object := runtime.DeepCopyJSON(d.object)
	// A status in a file is ignored, as the API server does.
	delete(object, "status")
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
		problems = append(problems, d.problem(err.Field, err.ErrorBody(), ""))
	}
	return object, problems
}

// into converts the checked document into its Go type.
func (d *document) into(target any) []Problem {
	object, problems := d.checkOurs()
	if problems != nil {
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
	if err := yaml.UnmarshalStrict(d.text, &configMap); err != nil {
		if m := unknownConfigMapField.FindStringSubmatch(err.Error()); m != nil {
			suggestion := "the fields here are data, binaryData, immutable"
			if meant := nearest(m[1], []string{"data", "binaryData", "immutable", "metadata"}); meant != "" {
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
