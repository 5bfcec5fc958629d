package manifest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
)

// Set is the manifests that were given, and the others in their directories.
type Set struct {
	documents collection
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
			problems = append(problems, set.documents.add(Stdin, text)...)
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
			problems = append(problems, set.documents.add(file, text)...)
			if dir := filepath.Dir(file); !slices.Contains(set.documents.searched, dir) {
				set.documents.searched = append(set.documents.searched, dir)
			}
		}
	}
	for _, dir := range set.documents.searched {
		if err := set.documents.addSiblings(dir, read); err != nil {
			return nil, err
		}
	}
	if problems != nil {
		return set, &InvalidError{Problems: problems}
	}
	return set, nil
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

// Benchmarks are the names of the benchmarks that were given, in their order, each with
// its file, and those that schedules make at each firing.
func (s *Set) Benchmarks() []Given {
	var all []Given
	for _, d := range s.documents.given {
		switch d.kind {
		case "Benchmark":
			all = append(all, Given{Name: d.name, File: d.source.file, of: d})
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
	for _, d := range s.documents.given {
		if d.isOurs() {
			n++
		}
	}
	return n
}

// Alone checks profiles and beds that no benchmark refers to by what the functions say of
// them.
func (s *Set) Alone(profile func(*v1alpha1.TrafficProfile) field.ErrorList, bed func(*v1alpha1.TestBed) field.ErrorList) error {
	for _, d := range s.documents.given {
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
