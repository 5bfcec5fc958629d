package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

// choice contains the flags: what to run, where, and what to write.
type choice struct {
	kernels, cards, checks *string
	cardKernel             *string
	page, exactFile        string
	noBuild                bool
	jobs                   int
}

// flags reads the flags.
func flags() choice {
	var c choice
	pick := func(name string, names []string, usage string) *string {
		return flag.String(name, strings.Join(names, ","), usage+", separated by commas; empty for none")
	}
	c.kernels = pick("kernels", names(kernels, func(k kernel) string { return k.name }), "kernels that the checks of kernels run on")
	c.cards = pick("cards", names(cards, func(c card) string { return c.name }), "cards that the checks of cards run on")
	c.cardKernel = flag.String("card-kernel", "debian13", "kernel of the machines with cards")
	c.checks = flag.String("checks", "", "checks to run, separated by commas; empty for all")
	flag.StringVar(&c.page, "write", "", "page to write the tables into, such as docs/kernels.md")
	flag.StringVar(&c.exactFile, "exact", "", "only check that this result lost and reordered no frame")
	flag.IntVar(&c.jobs, "jobs", 1, "machines that run at a time")
	flag.BoolVar(&c.noBuild, "no-build", false, "use what was compiled before")
	flag.Parse()
	return c
}

// wanted returns the checks that are to be run.
func (c choice) wanted(all []check) []check {
	return slices.DeleteFunc(slices.Clone(all), func(one check) bool { return *c.checks != "" && !slices.Contains(split(*c.checks), one.name) })
}

// validate refuses names that do not exist.
func (c choice) validate() error {
	for flagName, given := range map[string][]string{"kernels": split(*c.kernels), "cards": split(*c.cards), "checks": split(*c.checks), "card-kernel": {*c.cardKernel}} {
		if err := known(flagName, given); err != nil {
			return err
		}
	}
	return nil
}

// group is a machine with its line in a table.
type group struct {
	title   string
	machine machine
	table   *table
	run     bool
}

// groups returns the machines of all kernels and cards. A group that is not to be run keeps its
// stored results.
func (c choice) groups(cache string, kernelTable, cardTable *table) []group {
	var groups []group
	for _, k := range kernels {
		groups = append(groups, group{k.title + " (" + release(cache, k.name) + ")", machine{kernel: k.name, label: k.name}, kernelTable, slices.Contains(split(*c.kernels), k.name)})
	}
	for _, one := range cards {
		groups = append(groups, group{one.name, machine{kernel: *c.cardKernel, device: one.device, setUp: one.setUp, refuses: one.refuses, label: one.name}, cardTable, slices.Contains(split(*c.cards), one.name)})
	}
	return groups
}

// runAll runs the wanted checks of the groups, prints their outcome, and adds a line to the table
// of each group.
func (c choice) runAll(p places, groups []group) []error {
	var work []func() error
	for _, g := range groups {
		if checks := c.wanted(g.table.checks); g.run && len(checks) > 0 {
			work = append(work, func() error { return g.machine.run(p, checks) })
		}
	}
	errs := inParallel(c.jobs, work)
	for _, g := range groups {
		cells := stored(p, g.machine, g.table.checks)
		g.table.lines = append(g.table.lines, line{g.title, cells})
		for _, check := range c.wanted(g.table.checks) {
			cell, ran := cells[check.name]
			if !g.run || !ran {
				continue
			}
			fmt.Printf("%s: %s: %v\n", g.machine.label, check.name, cell)
			if cell.outcome == failed {
				errs = append(errs, fmt.Errorf("%s: %s failed: see %s", g.machine.label, check.name, filepath.Join(p.results, g.machine.label, check.name+".log")))
			}
		}
	}
	return errs
}

func run() error {
	c := flags()
	if c.exactFile != "" {
		return exact(c.exactFile)
	}
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	root := strings.TrimSpace(string(top))
	cache := os.Getenv("NODROP_CACHE")
	if cache == "" {
		cache = filepath.Join(root, ".cache")
	}
	p := places{root: root, bin: filepath.Join(cache, "vm/matrix/bin"), results: filepath.Join(cache, "vm/matrix/results")}
	if err := c.validate(); err != nil {
		return err
	}
	if !c.noBuild {
		if err := build(p); err != nil {
			return err
		}
	}

	began := time.Now()
	kernelTable, cardTable := table{of: "kernel", checks: kernelChecks}, table{of: "card", checks: cardChecks}
	errs := c.runAll(p, c.groups(cache, &kernelTable, &cardTable))
	tables := "### Kernels\n\n" + kernelTable.markdown() + "\n" + explained(kernelChecks) +
		"\n### Cards\n\nOn the kernel of " + *c.cardKernel + " (" + release(cache, *c.cardKernel) + "), two ports on one cable:\n\n" + cardTable.markdown() + "\n" + explained(cardChecks)
	fmt.Printf("\n%s\nThe matrix took %v.\n", tables, time.Since(began).Round(time.Second))
	if c.page != "" {
		if err := rewrite(c.page, tables); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// inParallel calls the functions, at most so many at a time, and returns their errors.
func inParallel(most int, work []func() error) []error {
	errs := make([]error, len(work))
	var running sync.WaitGroup
	slots := make(chan struct{}, max(most, 1))
	for i, f := range work {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = f()
		})
	}
	running.Wait()
	return errs
}

// rewrite puts the tables into the page.
func rewrite(page, tables string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	updated, err := replaceBetween(string(text), "matrix", tables)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(updated), 0o644)
}

// release returns the release of a kernel, or "?" before its first start.
func release(cache, kernel string) string {
	text, err := os.ReadFile(filepath.Join(cache, "vm", kernel, "release"))
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(text))
}

// known checks the values of a flag.
func known(name string, given []string) error {
	var all []string
	switch name {
	case "kernels", "card-kernel":
		all = names(kernels, func(k kernel) string { return k.name })
	case "cards":
		all = names(cards, func(c card) string { return c.name })
	case "checks":
		all = names(slices.Concat(kernelChecks, cardChecks), func(c check) string { return c.name })
	}
	for _, v := range given {
		if !slices.Contains(all, v) {
			return fmt.Errorf("-%s has %q: use %s", name, v, strings.Join(all, ", "))
		}
	}
	return nil
}

func names[T any](list []T, name func(T) string) (all []string) {
	for _, v := range list {
		if !slices.Contains(all, name(v)) {
			all = append(all, name(v))
		}
	}
	return all
}

// split returns the parts of a list that is separated by commas.
func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}
