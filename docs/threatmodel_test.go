package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")

// Each test that the threat model names exists.
func TestThreatModelNamesTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "THREAT-MODEL.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range namedTest.FindAllStringSubmatch(string(text), -1) {
		missing[m[1]] = true
	}
	if len(missing) < 20 {
		t.Errorf("the threat model names %d tests: are they written in another way?", len(missing))
	}
	for _, f := range testFunctions(t) {
		delete(missing, f.name)
	}
	for name := range missing {
		t.Errorf("THREAT-MODEL.md names %s, which does not exist", name)
	}
}
