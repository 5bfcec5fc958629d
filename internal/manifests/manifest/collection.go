package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/spelling"
)

// collection is the documents that were given, and the others in their directories. It finds
// documents, and describes what was searched.
type collection struct {
	given    []*document
	siblings []*document
	// unread are sibling files that could not be parsed.
	unread []string
	// searched are the directories of the given files.
	searched []string
}

// add reads and checks the documents of a given file.
func (c *collection) add(file string, text []byte) []Problem {
	documents, err := parseDocuments(file, text)
	var problems []Problem
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		problems = invalid.Problems
	}
	for _, d := range documents {
		problems = append(problems, d.check()...)
	}
	c.given = append(c.given, documents...)
	return problems
}

// addSiblings reads the other manifests of a directory. A file that cannot be parsed may
// not be a manifest, and is only recorded.
func (c *collection) addSiblings(dir string, read map[string]bool) error {
	files, err := manifestsIn(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if read[filepath.Clean(file)] {
			continue
		}
		read[filepath.Clean(file)] = true
		text, err := os.ReadFile(file)
		if err != nil {
			c.unread = append(c.unread, file)
			continue
		}
		documents, err := parseDocuments(file, text)
		if err != nil {
			c.unread = append(c.unread, file)
		}
		c.siblings = append(c.siblings, documents...)
	}
	return nil
}

// find returns the documents that match: those in the given files, or, when none of
// them matches, those in other files of their directories.
func (c *collection) find(matches func(*document) bool) []*document {
	for _, documents := range [][]*document{c.given, c.siblings} {
		var found []*document
		for _, d := range documents {
			if matches(d) {
				found = append(found, d)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// names lists the names of all documents of a kind, sorted and each once.
func (c *collection) names(kind string) []string {
	var names []string
	for _, d := range slices.Concat(c.given, c.siblings) {
		if d.kind == kind && !slices.Contains(names, d.name) {
			names = append(names, d.name)
		}
	}
	slices.Sort(names)
	return names
}

// near keeps the documents that are in the file of another one, or else in its directory. If none
// is, it keeps all.
func near(from *document, found []*document) []*document {
	for _, isNear := range []func(*document) bool{
		func(d *document) bool { return d.source.file == from.source.file },
		func(d *document) bool { return filepath.Dir(d.source.file) == filepath.Dir(from.source.file) },
	} {
		if some := slices.DeleteFunc(slices.Clone(found), func(d *document) bool { return !isNear(d) }); len(some) > 0 {
			return some
		}
	}
	return found
}

// benchmark returns the benchmark of a name, or without a name the only one that was given.
func (c *collection) benchmark(name string) (*document, error) {
	var given []*document
	var names []string
	for _, d := range c.given {
		if d.kind == "Benchmark" {
			given = append(given, d)
			names = append(names, d.name)
		}
	}
	if len(given) == 0 {
		return nil, hint.With(fmt.Errorf("no Benchmark in what was given with -f: %s", c.inventory()), "name the file with the Benchmark; what it refers to is found in the same directory")
	}
	if name == "" {
		if len(given) > 1 {
			return nil, hint.With(fmt.Errorf("there are %d benchmarks: %s", len(given), strings.Join(names, ", ")), "name the one to run: nodrop run -f FILE NAME")
		}
		return given[0], nil
	}
	var found []*document
	for _, d := range given {
		if d.name == name {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, hint.With(fmt.Errorf("no Benchmark is called %q", name), oneOf("the benchmarks given are", name, names))
	}
	return only(found)
}

// inventory names the objects that were given.
func (c *collection) inventory() string {
	var found []string
	for _, d := range c.given {
		found = append(found, fmt.Sprintf("%s %q in %s", d.kind, d.name, d.source.file))
	}
	if len(found) == 0 {
		return "there is no object in it"
	}
	return "found " + strings.Join(found, ", ")
}

// only refuses two objects of one name: it is not known which is meant.
func only(found []*document) (*document, error) {
	if len(found) > 1 {
		a, b := found[0], found[1]
		return nil, hint.With(
			fmt.Errorf("%s %q is defined twice: %s:%d and %s:%d", a.kind, a.name, a.source.file, a.source.lineOf(""), b.source.file, b.source.lineOf("")),
			"name the file with the one to use by -f: files named by -f take precedence over the others in their directories")
	}
	return found[0], nil
}

// notFound describes a reference to an object that does not exist.
func (c *collection) notFound(from *document, path, kind, name string, names []string) error {
	problem := from.problem(path, fmt.Sprintf("%s %q not found", kind, name), "")
	text := fmt.Sprintf("no %s was found", kind)
	if elsewhere := c.otherNamespaces(kind, name); len(elsewhere) > 0 {
		text = fmt.Sprintf("it is in namespace %s, and must be in that of the Benchmark, %s", list(elsewhere), from.namespace)
	} else if len(names) > 0 {
		text = oneOf(fmt.Sprintf("the names of kind %s are", kind), name, names)
	}
	return hint.With(&InvalidError{Problems: []Problem{problem}}, c.where(text))
}

// otherNamespaces lists the namespaces that have a TrafficProfile of this name,
// when it was not found in that of the benchmark.
func (c *collection) otherNamespaces(kind, name string) []string {
	var namespaces []string
	for _, d := range slices.Concat(c.given, c.siblings) {
		if kind == "TrafficProfile" && d.kind == kind && d.name == name && !slices.Contains(namespaces, d.namespace) {
			namespaces = append(namespaces, d.namespace)
		}
	}
	return namespaces
}

// where adds what was searched.
func (c *collection) where(text string) string {
	if len(c.searched) > 0 {
		text += "; searched the files given and the other manifests in " + strings.Join(c.searched, ", ")
	}
	if len(c.unread) > 0 {
		text += "; not readable as YAML: " + strings.Join(c.unread, ", ")
	}
	return text
}

func oneOf(intro, name string, names []string) string {
	if meant := spelling.Nearest(name, names); meant != "" {
		return fmt.Sprintf("did you mean %q? %s %s", meant, intro, list(names))
	}
	return intro + " " + list(names)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
