package docs

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the packages into docs/design/map.md")

const module = "nodrop.dev/nodrop/"

// topics are the folders of the map, from the highest layer to the lowest, with what each is for:
// a package belongs to the topic of its folder.
var topics = []struct{ folder, title string }{
	{"cmd", "commands"},
	{"controllers", "the operator"},
	{"internal/lab", "labs in clusters and on one machine: queue, objects, page, doctor"},
	{"internal/manifests", "what people write, and its checks"},
	{"internal/reporting", "what is made of results: reports, gates, trends, archive, metrics"},
	{"internal/dut", "devices, and the routers among them"},
	{"internal/measure", "plans, methods, searches, runs and rows"},
	{"internal/workload", "applications of hosts on the test ports, and models of them"},
	{"internal/traffic", "frames, and the engines that send and count them"},
	{"internal/workload", "applications of hosts on the ports"},
	{"internal/routing", "BGP and BFD sessions of the tester"},
	{"internal/base", "what every package may use: text, certificates, network interfaces"},
	{"api", "resources"},
	{"charts", "the chart, with the definitions of resources"},
	{"config", "roles, webhooks and samples"},
}

// leftOut are packages for tests, and generated code.
var leftOut = regexp.MustCompile(`test$|pb$|^docs$|^e2e$|^internal/testkit/|/histories$`)

// goPackage is a package as go list prints it.
type goPackage struct {
	ImportPath, Doc string
	Imports         []string
}

// listPackages returns the packages of the map by their path from the root.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Doc,Imports", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]goPackage{}
	for list := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		if path := strings.TrimPrefix(p.ImportPath, module); !leftOut.MatchString(path) {
			all[path] = p
		}
	}
}

// layerOf returns the layer of a package: one above the highest of those that it imports.
func layerOf(all map[string]goPackage, path string, known map[string]int) int {
	if layer, found := known[path]; found {
		return layer
	}
	layer := 1
	for _, imported := range all[path].Imports {
		if below, is := strings.CutPrefix(imported, module); is {
			if _, found := all[below]; found {
				layer = max(layer, layerOf(all, below, known)+1)
			}
		}
	}
	known[path] = layer
	return layer
}

// topicOf returns the index of the topic of a package, or -1.
func topicOf(path string) int {
	for i, topic := range topics {
		if path == topic.folder || strings.HasPrefix(path, topic.folder+"/") {
			return i
		}
	}
	return -1
}

// packagesInWords returns the tables of the map.
func packagesInWords(t *testing.T) string {
	t.Helper()
	all, layers := listPackages(t), map[string]int{}
	tables := make([]strings.Builder, len(topics))
	for _, path := range slices.Sorted(maps.Keys(all)) {
		i := topicOf(path)
		if i < 0 {
			t.Errorf("package %s belongs to no topic of map_test.go: add it to one", path)
			continue
		}
		_, sentence, ok := strings.Cut(all[path].Doc, " ")
		if _, sentence, _ = strings.Cut(sentence, " "); !ok || sentence == "" {
			t.Errorf("package %s has no comment", path)
			continue
		}
		fmt.Fprintf(&tables[i], "| [`%s`](../../%s) | %d | %s |\n", path, path, layerOf(all, path, layers), sentence)
	}
	var text strings.Builder
	for i, topic := range topics {
		fmt.Fprintf(&text, "\n### `%s`: %s\n\n| Package | Layer | What it does |\n|---|---|---|\n%s", topic.folder, topic.title, &tables[i])
	}
	return text.String()
}

// TestMap checks that the map has every package, and that each file and folder that it names
// exists.
func TestMap(t *testing.T) {
	const begin, end = "<!-- packages -->\n", "<!-- end -->"
	name := filepath.Join("design", "map.md")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	have, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the packages: %s and %s", name, begin, end)
	}
	want := packagesInWords(t)
	if have != want {
		if !*update {
			t.Errorf("the packages of %s are not those of the code: run go test ./docs -run TestMap -update", name)
		} else if err := os.WriteFile(name, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := regexp.MustCompile("[`\"]((?:api|cmd|charts|config|controllers|docs|hack|internal)(?:/[A-Za-z0-9_.*-]+)+)")
	for _, m := range path.FindAllStringSubmatch(before+after, -1) {
		if files, err := filepath.Glob(filepath.Join(root, m[1])); err != nil || len(files) == 0 {
			t.Errorf("%s names %s, which does not exist", name, m[1])
		}
	}
}
