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

func run() error {
	var page, exactFile string
	var noBuild bool
	var jobs int
	pick := func(name string, names []string, usage string) *string {
		return flag.String(name, strings.Join(names, ","), usage+", separated by commas; empty for none")
	}
	onKernels := pick("kernels", names(kernels, func(k kernel) string { return k.name }), "kernels that the checks of kernels run on")
	onCards := pick("cards", names(cards, func(c card) string { return c.name }), "cards that the checks of cards run on")
	cardKernel := flag.String("card-kernel", "debian13", "kernel of the machines with cards")
	only := flag.String("checks", "", "checks to run, separated by commas; empty for all")
	flag.StringVar(&page, "write", "", "page to write the tables into, such as docs/kernels.md")
	flag.StringVar(&exactFile, "exact", "", "only check that this result lost and reordered no frame")
	flag.IntVar(&jobs, "jobs", 1, "machines that run at a time")
	flag.BoolVar(&noBuild, "no-build", false, "use what was compiled before")
	flag.Parse()
	if exactFile != "" {
		return exact(exactFile)
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
	wanted := func(all []check) []check {
		return slices.DeleteFunc(slices.Clone(all), func(c check) bool { return *only != "" && !slices.Contains(split(*only), c.name) })
	}
	for flagName, given := range map[string][]string{"kernels": split(*onKernels), "cards": split(*onCards), "checks": split(*only), "card-kernel": {*cardKernel}} {
		if err := known(flagName, given); err != nil {
			return err
		}
	}
	if !noBuild {
		if err := build(p); err != nil {
			return err
		}
	}

	began := time.Now()
	type group struct {
		title   string
		machine machine
		table   *table
		run     bool
	}
	kernelTable, cardTable := table{of: "kernel", checks: kernelChecks}, table{of: "card", checks: cardChecks}
	var groups []group
	for _, k := range kernels {
		groups = append(groups, group{k.title + " (" + release(cache, k.name) + ")", machine{kernel: k.name, label: k.name}, &kernelTable, slices.Contains(split(*onKernels), k.name)})
	}
	for _, c := range cards {
		groups = append(groups, group{c.name, machine{kernel: *cardKernel, device: c.device, setUp: c.setUp, refuses: c.refuses, label: c.name}, &cardTable, slices.Contains(split(*onCards), c.name)})
	}
	var work []func() error
	for _, g := range groups {
		if checks := wanted(g.table.checks); g.run && len(checks) > 0 {
			work = append(work, func() error { return g.machine.run(p, checks) })
		}
	}
	errs := inParallel(jobs, work)
	for _, g := range groups {
		cells := stored(p, g.machine, g.table.checks)
		g.table.lines = append(g.table.lines, line{g.title, cells})
		for _, c := range wanted(g.table.checks) {
			cell, ran := cells[c.name]
			if !g.run || !ran {
				continue
			}
			fmt.Printf("%s: %s: %v\n", g.machine.label, c.name, cell)
			if cell.outcome == failed {
				errs = append(errs, fmt.Errorf("%s: %s failed: see %s", g.machine.label, c.name, filepath.Join(p.results, g.machine.label, c.name+".log")))
			}
		}
	}
	tables := "### Kernels\n\n" + kernelTable.markdown() + "\n" + explained(kernelChecks) +
		"\n### Cards\n\nOn the kernel of " + *cardKernel + " (" + release(cache, *cardKernel) + "), two ports on one cable:\n\n" + cardTable.markdown() + "\n" + explained(cardChecks)
	fmt.Printf("\n%s\nThe matrix took %v.\n", tables, time.Since(began).Round(time.Second))
	if page != "" {
		if err := rewrite(page, tables); err != nil {
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
