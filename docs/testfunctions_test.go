package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testFunction is a test or a fuzz target of the module. Folder is relative to its root.
type testFunction struct{ folder, name string }

var testDeclaration = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testFunctions returns all tests and fuzz targets.
func testFunctions(t *testing.T) (all []testFunction) {
	t.Helper()
	for _, folder := range []string{"api", "charts", "cmd", "config", "controllers", "e2e", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			inside, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			code, err := os.ReadFile(path)
			for _, found := range testDeclaration.FindAllSubmatch(code, -1) {
				all = append(all, testFunction{filepath.ToSlash(inside), string(found[1])})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
