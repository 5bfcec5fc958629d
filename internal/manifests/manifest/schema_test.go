package manifest

import (
	"io/fs"
	"path"
	"testing"

	"nodrop.dev/nodrop/charts"
)

// TestEachDefinitionHasItsKind parses and compiles all definitions, of which a command parses only those that it needs.
func TestEachDefinitionHasItsKind(t *testing.T) {
	names, err := fs.Glob(charts.Files, path.Join(charts.Definitions, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	byKind, err := kindSchemas()
	if err != nil || len(names) == 0 || len(byKind) != len(names) {
		t.Fatalf("%d definitions have %d kinds (%v)", len(names), len(byKind), err)
	}
	for kind := range byKind {
		if s, err := schemaOf(kind); err != nil || s.kind != kind {
			t.Errorf("the schema of %q: %v", kind, err)
		}
	}
}
