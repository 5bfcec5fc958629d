package docs

import (
	"io/fs"
	"os"
	"path/filepath"
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
	for _, name := range fuzzTargets(t) {
		if !listed[name] {
			t.Errorf("design/fuzzing.md lacks %s", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("design/fuzzing.md lists %s, which does not exist", name)
	}
}

// fuzzTargets returns the fuzz targets of the module as PACKAGE NAME.
func fuzzTargets(t *testing.T) (all []string) {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	for _, top := range []string{"api", "charts", "cmd", "config", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range function.FindAllSubmatch(text, -1) {
				all = append(all, filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator)))+" "+string(found[1]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 30 {
		t.Fatalf("only %d targets were found", len(all))
	}
	return all
}
