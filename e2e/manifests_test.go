//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// decode reads one YAML document, refusing unknown fields.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
