package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
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

	recursive bool
	overrides []Override
}

// Stdin is the file of manifests that were read from there.
const Stdin = "stdin"

// Option changes how manifests are read.
type Option func(*Set)

// Recursive reads also the directories in those that are given.
func Recursive(yes bool) Option { return func(s *Set) { s.recursive = yes } }

// With puts values in place of those in the benchmark, the profile and the bed that
// Resolve finds.
func With(overrides []Override) Option { return func(s *Set) { s.overrides = overrides } }

// Load reads files and directories (their *.yaml, *.yml and *.json files, and those of
// directories in them with Recursive); "-" stands for stdin. Everything given is checked;
// siblings are checked when something refers to them.
// It fails with *InvalidError when a manifest is not valid; the set then serves Amended.
func Load(paths []string, stdin io.Reader, options ...Option) (*Set, error) {
	set := &Set{}
	for _, option := range options {
		option(set)
	}
	read := map[string]bool{}
	var problems []Problem
	for _, path := range paths {
		if path == "-" {
			text, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("reading manifests from stdin: %w", err)
			}
			problems = append(problems, set.add(Stdin, text)...)
			continue
		}
		files, err := set.expand(path)
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
	for _, dir := range set.searched {
		if err := set.addSiblings(dir, read); err != nil {
			return nil, err
		}
	}
	if problems != nil {
		return set, &InvalidError{Problems: problems}
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

func (s *Set) expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, hint.With(fmt.Errorf("reading manifests: %w", err), "give a file or directory with -f")
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	dirs := []string{path}
	if s.recursive {
		if dirs, err = directoriesIn(path); err != nil {
			return nil, err
		}
	}
	var files []string
	for _, dir := range dirs {
		more, err := manifestsIn(dir)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		advice := "manifests end in .yaml, .yml or .json"
		if !s.recursive {
			advice += "; those in directories below are read with -R"
		}
		return nil, hint.With(fmt.Errorf("%s holds no manifests", path), advice)
	}
	return files, nil
}

// directoriesIn is a directory with all that are in it.
func directoriesIn(dir string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("finding manifests: %w", err)
	}
	return dirs, nil
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

// near keeps those of several documents that lie next to another: in its file, or else in
// its directory. Without any it keeps all.
func near(from *document, found []*document) []*document {
	for _, beside := range []func(*document) bool{
		func(d *document) bool { return d.file == from.file },
		func(d *document) bool { return filepath.Dir(d.file) == filepath.Dir(from.file) },
	} {
		if some := slices.DeleteFunc(slices.Clone(found), func(d *document) bool { return !beside(d) }); len(some) > 0 {
			return some
		}
	}
	return found
}

// Benchmarks are the names of the benchmarks that were given, in their order, each with
// its file, and those that schedules make at each firing.
func (s *Set) Benchmarks() []Given {
	var all []Given
	for _, d := range s.given {
		switch d.kind {
		case "Benchmark":
			all = append(all, Given{Name: d.name, File: d.file, of: d})
		case kindSchedule:
			all = append(all, s.scheduled(d)...)
		}
	}
	return all
}

// Given is a benchmark that was given.
type Given struct {
	Name, File string
	// Schedule is the name of the one that makes the benchmark; empty for one that is written
	// as it is.
	Schedule string

	of *document
	// err is the reason why the schedule makes no benchmark.
	err error
}

// Len returns the number of NoDrop objects that were given.
func (s *Set) Len() int {
	n := 0
	for _, d := range s.given {
		if d.isOurs() {
			n++
		}
	}
	return n
}

// Alone checks profiles and beds that no benchmark refers to by what the functions say of
// them.
func (s *Set) Alone(profile func(*v1alpha1.TrafficProfile) field.ErrorList, bed func(*v1alpha1.TestBed) field.ErrorList) error {
	for _, d := range s.given {
		if err := d.override(s.overrides); err != nil {
			return err
		}
		bundle := &Bundle{profile: d, bed: d}
		var errs field.ErrorList
		var problems []Problem
		switch d.kind {
		case "TrafficProfile":
			problems = d.into(&bundle.Profile)
			errs = profile(&bundle.Profile)
		case "TestBed":
			problems = d.into(&bundle.Bed)
			errs = bed(&bundle.Bed)
		}
		if problems != nil {
			return &InvalidError{Problems: problems}
		}
		if err := bundle.Invalid(errs); err != nil {
			return err
		}
	}
	return nil
}
