package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	spdx "github.com/spdx/tools-golang/json"
)

func verifyCommand(flags *flag.FlagSet) run {
	licenses := flags.String("licenses", "", "`folder` with licenses")
	sbom := flags.String("sbom", "", "SPDX `file`")
	return func(args []string) error {
		binary, err := one(args)
		if err != nil {
			return err
		}
		l, err := read(binary)
		if err != nil {
			return err
		}
		if err := errors.Join(checkLicenses(*licenses, l), checkSBOM(*sbom, l)); err != nil {
			return err
		}
		fmt.Printf("%s: licenses and SBOM have all %d modules\n", binary, len(l.Modules))
		return nil
	}
}

// checkLicenses reports modules of a binary without a license text, or without a line in the table.
func checkLicenses(folder string, l linked) error {
	known, err := readIndex(folder)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	var problems []error
	for _, m := range l.Modules {
		if known[m.Path+"@"+m.Version] == "" {
			problems = append(problems, fmt.Errorf("%s has no license of %s@%s", filepath.Join(folder, index), m.Path, m.Version))
		}
		isText := func(name string) bool {
			rest, of := strings.CutPrefix(name, flat(m.Path))
			return of && licenseName.MatchString(rest)
		}
		if !slices.ContainsFunc(names, isText) {
			problems = append(problems, fmt.Errorf("%s has no license text of %s", folder, m.Path))
		}
	}
	return errors.Join(problems...)
}

// checkSBOM reports modules of a binary that an SPDX document does not have, and packages that the binary does not have.
func checkSBOM(file string, l linked) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := spdx.Read(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	has := map[string]bool{}
	for _, p := range d.Packages {
		if p.PackageSPDXIdentifier != program {
			has[p.PackageName+"@"+p.PackageVersion] = true
		}
	}
	var problems []error
	for _, m := range l.Modules {
		if !has[m.Path+"@"+m.Version] {
			problems = append(problems, fmt.Errorf("%s does not have %s@%s", file, m.Path, m.Version))
		}
		delete(has, m.Path+"@"+m.Version)
	}
	for name := range has {
		problems = append(problems, fmt.Errorf("%s has %s, which is not linked", file, name))
	}
	return errors.Join(problems...)
}
