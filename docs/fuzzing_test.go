package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFuzzingListsAllTargets compares the table of docs/design/fuzzing.md with the fuzz targets of the code.
func TestFuzzingListsAllTargets(t *testing.T) {
	page, err := os.ReadFile("design/fuzzing.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	target := regexp.MustCompile(`Fuzz\w+`)
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` ([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		for _, name := range target.FindAllString(row[2], -1) {
			listed[row[1]+" "+name] = true
		}
	}
	targets := 0
	for _, f := range testFunctions(t) {
		if !strings.HasPrefix(f.name, "Fuzz") {
			continue
		}
		targets++
		name := f.folder + " " + f.name
		if !listed[name] {
			t.Errorf("design/fuzzing.md lacks %s", name)
		}
		delete(listed, name)
	}
	if targets < 30 {
		t.Fatalf("only %d targets were found", targets)
	}
	for name := range listed {
		t.Errorf("design/fuzzing.md lists %s, which does not exist", name)
	}
}
