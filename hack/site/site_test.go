package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dop251/goja"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const root = "../.."

// document is an HTML file of the site, as far as tests read it.
type document struct {
	title string
	// anchors are the IDs of its elements, links its links in their order, and sources what a browser loads for it.
	anchors, sources []string
	links            []hyperlink
}

type hyperlink struct{ text, target string }

// temporary is the folder of the site and the program, once there is one.
var temporary string

// built builds the site once for all tests, and returns its folder and its HTML files by path.
var built = sync.OnceValues(func() (string, map[string]*document) {
	cache := os.Getenv("NODROP_CACHE")
	if cache == "" {
		panic("NODROP_CACHE is not set: run the test by make, or set it to the folder .cache of the repository")
	}
	out, err := os.MkdirTemp("", "nodrop-site-test-")
	must(err)
	temporary = out
	program := filepath.Join(out, "nodrop")
	compile := exec.Command("go", "build", "-ldflags=-w", "-tags", "standalone", "-o", program, "./cmd/nodrop")
	compile.Dir = root
	if text, err := compile.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building nodrop: %v\n%s", err, text))
	}
	must(build(context.Background(), options{root: root, out: filepath.Join(out, "site"), hugo: filepath.Join(cache, "tools", "hugo"), nodrop: program}))
	out = filepath.Join(out, "site")
	documents := map[string]*document{}
	must(filepath.WalkDir(out, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		url, err := filepath.Rel(out, name)
		documents[filepath.ToSlash(url)] = parse(content)
		return err
	}))
	return out, documents
})

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// TestMain removes the site after the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	must(os.RemoveAll(temporary))
	os.Exit(code)
}

func parse(content []byte) *document {
	tree, err := html.Parse(bytes.NewReader(content))
	must(err)
	d := &document{}
	for n := range tree.Descendants() {
		if id := attribute(n, "id"); id != "" {
			d.anchors = append(d.anchors, id)
		}
		switch n.DataAtom {
		case atom.Title:
			d.title = textOf(n)
		case atom.A:
			if target := attribute(n, "href"); target != "" {
				d.links = append(d.links, hyperlink{strings.TrimSpace(textOf(n)), target})
			}
		case atom.Link:
			d.sources = append(d.sources, attribute(n, "href"))
		case atom.Img, atom.Script:
			if source := attribute(n, "src"); source != "" {
				d.sources = append(d.sources, source)
			}
		}
	}
	return d
}

// targetOf returns the file that a link of a page leads to, and the anchor in it.
func targetOf(from, target string) (file, anchor string) {
	file, anchor, _ = strings.Cut(target, "#")
	if file == "" {
		return from, anchor
	}
	return path.Join(path.Dir(from), file), anchor
}

// isExternal reports whether a link leads to another site, or to an address that is no file.
func isExternal(target string) bool {
	return regexp.MustCompile(`^[a-z]+:`).MatchString(target)
}

// Every link of the site ends at a file, and at an element of it if it has an anchor.
func TestLinksOfTheSite(t *testing.T) {
	out, documents := built()
	links := 0
	for from, d := range documents {
		for _, l := range d.links {
			if isExternal(l.target) {
				continue
			}
			links++
			file, anchor := targetOf(from, l.target)
			if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(file))); err != nil || strings.HasPrefix(l.target, "/") {
				t.Errorf("%s links to %s, which does not exist", from, l.target)
			} else if anchor != "" && (documents[file] == nil || !slices.Contains(documents[file].anchors, anchor)) {
				t.Errorf("%s links to %s: %s has no such element", from, l.target, file)
			}
		}
	}
	if links < 1000 {
		t.Errorf("found only %d links", links)
	}
}

// A browser that opens a page from disk finds all that it loads, and asks no other host.
func TestSiteNeedsNoServer(t *testing.T) {
	out, documents := built()
	for from, d := range documents {
		for _, source := range d.sources {
			if strings.HasPrefix(source, "data:") {
				continue
			}
			file, _ := targetOf(from, source)
			if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(file))); err != nil || isExternal(source) || strings.HasPrefix(source, "/") {
				t.Errorf("%s loads %s, which is no file of the site", from, source)
			}
		}
	}
}

// Every page of docs is a page of the site, with a title.
func TestEveryPageIsThere(t *testing.T) {
	_, documents := built()
	must(filepath.WalkDir(filepath.Join(root, "docs"), func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			source, err := filepath.Rel(root, name)
			must(err)
			if d := documents[urlOf(filepath.ToSlash(source))]; d == nil {
				t.Errorf("%s has no page", source)
			} else if d.title == "" || strings.HasPrefix(d.title, " ") {
				t.Errorf("the page of %s has the title %q", source, d.title)
			}
		}
		return err
	}))
}

// Each method of the API has a report in the gallery, which measured it.
func TestGalleryHasEveryMethod(t *testing.T) {
	out, _ := built()
	definitions, err := os.ReadFile(filepath.Join(root, "api", "v1alpha1", "benchmark_types.go"))
	must(err)
	rule := regexp.MustCompile(`exactly one of the fields in \[(throughput [\w ]+)\]`)
	found := rule.FindStringSubmatch(string(definitions))
	if found == nil {
		t.Fatal("the rule for exactly one method was not found")
	}
	methods := strings.Fields(found[1])
	if len(methods) < 20 {
		t.Fatalf("found only the methods %v", methods)
	}
	for _, method := range methods {
		if method == "connections" {
			continue // No model keeps connections.
		}
		content, err := os.ReadFile(filepath.Join(out, galleryFolder, method+".html"))
		if err != nil {
			t.Errorf("method %s has no report: add a line to %s", method, galleryPage)
		} else if !strings.Contains(string(content), "Simulated") {
			t.Errorf("the report of %s has no simulated row", method)
		}
		all, err := readGallery(root)
		must(err)
		for _, r := range all {
			if r.method != method {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, r.sample))
			must(err)
			if !regexp.MustCompile(`(?m)^ +` + method + `:`).Match(text) {
				t.Errorf("%s has no test %s", r.sample, method)
			}
		}
	}
}

// The search finds the page that a reader wants first, in the index of the site.
func TestSearch(t *testing.T) {
	out, _ := built()
	vm := goja.New()
	for _, file := range []string{"search.js", "search-index.js"} {
		text, err := os.ReadFile(filepath.Join(out, file))
		must(err)
		if file == "search-index.js" {
			text = bytes.Replace(text, []byte("window.searchIndex"), []byte("searchIndex"), 1)
		}
		if _, err := vm.RunString(string(text)); err != nil {
			t.Fatalf("running %s: %v", file, err)
		}
	}
	var find func(query string) []string
	if _, err := vm.RunString("function urls(query) { return find(searchIndex, query, 15).map(s => s.url) }"); err != nil {
		t.Fatal(err)
	}
	must(vm.ExportTo(vm.Get("urls"), &find))
	for query, want := range map[string]string{
		"exit codes":       "reference/exit-codes.html",
		"storm control":    "switch-setup.html",
		"quarantine":       "guides/lab-owner.html",
		"groupjoindelay":   "methods/group-delay.html",
		"calibration":      "methods/calibration.html",
		"huge pages trex":  "own-cluster.html",
		"uninstall":        "guides/operations.html",
		"no such word xyz": "",
	} {
		urls := find(query)
		has := func(url string) bool { return strings.HasPrefix(url, want) }
		if query == "no such word xyz" && len(urls) > 0 {
			t.Errorf("%q finds %v", query, urls)
		}
		if first := urls[:min(3, len(urls))]; want != "" && !slices.ContainsFunc(first, has) {
			t.Errorf("%q finds %v first, want %s among them", query, first, want)
		}
	}
}

// Each path of clicks in docs/contributing.md leads from the first page to its end, in three clicks at most.
func TestClicks(t *testing.T) {
	_, documents := built()
	text, err := os.ReadFile(filepath.Join(root, "docs", "contributing.md"))
	must(err)
	paths := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]*›?[^|]*) \| \x60([a-z0-9/.#-]+)\x60 \|$`).FindAllStringSubmatch(string(text), -1)
	if len(paths) < 5 {
		t.Fatalf("docs/contributing.md lists %d tasks", len(paths))
	}
	for _, m := range paths {
		clicks := strings.Split(m[2], " › ")
		at, anchor := "index.html", ""
		for _, click := range clicks {
			i := slices.IndexFunc(documents[at].links, func(l hyperlink) bool { return l.text == click && !isExternal(l.target) })
			if i < 0 {
				t.Errorf("%s: %s has no link %q", m[1], at, click)
				break
			}
			at, anchor = targetOf(at, documents[at].links[i].target)
		}
		if anchor != "" {
			at += "#" + anchor
		}
		if at != m[3] || len(clicks) > 3 {
			t.Errorf("%s: %d clicks lead to %s, want 3 at most and %s", m[1], len(clicks), at, m[3])
		}
	}
}
