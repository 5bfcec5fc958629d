package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"golang.org/x/mod/module"
)

// index is the name of the table with the license of each module.
const index = "index.csv"

// licenseName matches the names of files with licenses and notices.
var licenseName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents|authors)([.-].*)?$`)

// minimum is the part of a text, in percent, that a known license has to match.
const minimum = 75

func licensesCommand(flags *flag.FlagSet) run {
	out := flags.String("o", "", "`folder` to write")
	return func(args []string) error {
		modules, err := readAll(args)
		if err != nil {
			return err
		}
		if len(modules) == 0 || *out == "" {
			return errors.New("give -o FOLDER and the binaries")
		}
		return writeLicenses(*out, modules)
	}
}

// writeLicenses writes the license files of modules, and a table with the license of each.
func writeLicenses(out string, modules []linkedModule) error {
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	rows := [][]string{{"module", "version", "license"}}
	var missing []string
	for _, m := range modules {
		source, err := sourceOf(m)
		if err != nil {
			return err
		}
		names, err := copyLicenses(source, filepath.Join(out, flat(m.Path)))
		if err != nil {
			return fmt.Errorf("copying the licenses of %s: %w", m.Path, err)
		}
		id, err := identify(source, names)
		if err != nil {
			return err
		}
		if len(names) == 0 || id == "" {
			missing = append(missing, m.Path+"@"+m.Version)
		}
		rows = append(rows, []string{m.Path, m.Version, id})
	}
	if len(missing) > 0 {
		return fmt.Errorf("modules without a license that is known: %s: look into their sources", strings.Join(missing, ", "))
	}
	file, err := os.Create(filepath.Join(out, index))
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close())
}

// sourceOf returns the folder with the sources of a module.
func sourceOf(m linkedModule) (string, error) {
	if m.Path == goModule {
		root, err := goEnv("GOROOT")
		return root, err
	}
	cache, err := goEnv("GOMODCACHE")
	if err != nil {
		return "", err
	}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, filepath.FromSlash(path)+"@"+version)
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("the sources of %s are missing: go mod download brings them: %w", m.Path, err)
	}
	return folder, nil
}

func goEnv(name string) (string, error) {
	text, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// flat returns the beginning of the names of the files of a module. nfpm writes folders of a tree with modes that RPM does not
// know, so that there are no folders.
func flat(path string) string { return strings.ReplaceAll(path, "/", "+") + "+" }

// copyLicenses copies the files with licenses from a folder to names with a common beginning, and returns their names in
// order.
func copyLicenses(from, to string) ([]string, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenseName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(to+e.Name(), text, 0o644); err != nil {
			return nil, err
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// identify returns the SPDX expression of the licenses in files; empty if a known license is not found.
func identify(folder string, names []string) (string, error) {
	var ids []string
	for _, name := range names {
		text, err := fs.ReadFile(os.DirFS(folder), name)
		if err != nil {
			return "", err
		}
		found := licensecheck.Scan(text)
		if found.Percent < minimum {
			continue
		}
		for _, match := range found.Match {
			if !match.IsURL && match.ID != "" && !slices.Contains(ids, match.ID) {
				ids = append(ids, match.ID)
			}
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " AND "), nil
}
