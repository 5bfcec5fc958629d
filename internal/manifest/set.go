package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/hint"
)

// Set is the manifests that were given, and the others in their directories.
type Set struct {
	given    []*document
	siblings []*document
	// unread are sibling files that could not be parsed.
	unread []string
	// searched are the directories of the given files.
	searched []string
}

// Load reads files and directories (their *.yaml, *.yml and *.json files, not
// those of directories in them); "-" stands for stdin. Everything given is
// checked; siblings are checked when something refers to them.
// It fails with *InvalidError when a manifest is not valid.
func Load(paths []string, stdin io.Reader) (*Set, error) {
	set := &Set{}
	read := map[string]bool{}
	var problems []Problem
	for _, path := range paths {
		if path == "-" {
			text, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("reading manifests from stdin: %w", err)
			}
			problems = append(problems, set.add("stdin", text)...)
			continue
		}
		files, err := expand(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if read[filepath.Clean(file)] {
				continue
			}
			read[filepath.Clean(file)] = true
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading manifests: %w", err)
			}
			problems = append(problems, set.add(file, text)...)
			if dir := filepath.Dir(file); !slices.Contains(set.searched, dir) {
				set.searched = append(set.searched, dir)
			}
		}
	}
	if problems != nil {
		return nil, &InvalidError{Problems: problems}
	}
	for _, dir := range set.searched {
		if err := set.addSiblings(dir, read); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func (s *Set) add(file string, text []byte) []Problem {
	documents, err := parseDocuments(file, text)
	var problems []Problem
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		problems = invalid.Problems
	}
	for _, d := range documents {
		problems = append(problems, d.check()...)
	}
	s.given = append(s.given, documents...)
	return problems
}

// addSiblings reads the other manifests of a directory. A file that cannot be parsed may
// not be a manifest, and is only recorded.
func (s *Set) addSiblings(dir string, read map[string]bool) error {
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
			s.unread = append(s.unread, file)
			continue
		}
		documents, err := parseDocuments(file, text)
		if err != nil {
			s.unread = append(s.unread, file)
		}
		s.siblings = append(s.siblings, documents...)
	}
	return nil
}

func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, hint.With(fmt.Errorf("reading manifests: %w", err), "give a file or directory with -f")
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := manifestsIn(path)
	if err == nil && len(files) == 0 {
		err = hint.With(fmt.Errorf("%s holds no manifests", path), "manifests end in .yaml, .yml or .json")
	}
	return files, err
}

func manifestsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("finding manifests: %w", err)
	}
	var files []string
	for _, entry := range entries {
		switch strings.ToLower(filepath.Ext(entry.Name())) {
		case ".yaml", ".yml", ".json":
			if !entry.IsDir() {
				files = append(files, filepath.Join(dir, entry.Name()))
			}
		}
	}
	return files, nil
}

// find returns the documents that match: those in the given files, or, when none of
// them matches, those in other files of their directories.
func (s *Set) find(matches func(*document) bool) []*document {
	for _, documents := range [][]*document{s.given, s.siblings} {
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
func (s *Set) names(kind string) []string {
	var names []string
	for _, d := range slices.Concat(s.given, s.siblings) {
		if d.kind == kind && !slices.Contains(names, d.name) {
			names = append(names, d.name)
		}
	}
	slices.Sort(names)
	return names
}
