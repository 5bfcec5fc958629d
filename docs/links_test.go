// Package docs holds what is written about NoDrop. Its test keeps the texts from
// pointing at what is not there.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = ".."

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	code    = regexp.MustCompile("`[^`\n]*`")
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	sample  = regexp.MustCompile(`\b(?:config|labs|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9_]`)
)

// texts are the Markdown files of the repository, by their path from its root.
func texts(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files[name] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// anchors are the places in a text that a link can end at, as GitHub names them.
func anchors(text string) []string {
	var names []string
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.ToLower(linked.ReplaceAllString(h[1], "$1"))
		names = append(names, strings.ReplaceAll(noSlug.ReplaceAllString(name, ""), " ", "-"))
	}
	return names
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

// Every link within the repository ends at a file, and at a heading where it names one.
func TestDocLinks(t *testing.T) {
	files := texts(t)
	links := 0
	for name, text := range files {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], ":") {
				continue // to somewhere else
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			switch {
			case !exists(target):
				t.Errorf("%s links to %s: there is no %s", name, m[1], target)
			case anchor != "" && !slices.Contains(anchors(files[target]), anchor):
				t.Errorf("%s links to %s: %s has no such heading", name, m[1], target)
			}
		}
	}
	if links == 0 {
		t.Error("no link was found")
	}
}

// Every file of the repository that a text names is there.
func TestDocPaths(t *testing.T) {
	for name, text := range texts(t) {
		for _, path := range sample.FindAllString(text, -1) {
			if !exists(path) && !exists(filepath.Join(filepath.Dir(name), path)) {
				t.Errorf("%s names %s, which is not there", name, path)
			}
		}
	}
}
