package kubetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Objects reads the objects of a manifest, without its empty documents.
func Objects(t testing.TB, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// Expectations are the messages that a broken manifest expects: the rest of every line
// that begins with "# expect: ". A manifest without one fails the test.
func Expectations(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if want, ok := strings.CutPrefix(strings.TrimSpace(line), "# expect: "); ok {
			all = append(all, want)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s does not say what message it expects", file)
	}
	return all
}

// Refused fails the test unless an API server refused an object as invalid, with this text.
func Refused(t testing.TB, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("accepted, want it refused with %q", want)
	case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want):
		t.Errorf("refused with\n%v\nwant %q", err, want)
	}
}
