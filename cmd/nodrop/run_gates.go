package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/documents"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// findBaselines finds what the gates of a benchmark compare with among the results in files
// and directories; nil where no gate compares.
func findBaselines(ctx context.Context, bundle *manifest.Bundle, args []string) (map[string]gate.Baseline, error) {
	relative := func(g v1alpha1.Gate) bool { return g.Relative != nil }
	if !slices.ContainsFunc(bundle.Benchmark.Spec.Gates, relative) {
		if len(args) > 0 {
			return nil, hint.With(fmt.Errorf("--baseline: no gate of benchmark %s is relative to a baseline", bundle.Benchmark.Name), "leave it out, or give relative in spec.gates (docs/gates.md)")
		}
		return nil, nil
	}
	own := bundle.Benchmark.DeepCopy()
	own.Status.TestBedName = bundle.Bed.Name
	found, err := report.NewBaselines(report.New(report.Content{Benchmark: own, Profile: &bundle.Profile, Bed: &bundle.Bed}))
	if err != nil {
		return nil, err
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, hint.With(fmt.Errorf("--baseline: %w", err), "give a file that -o json has written, or a directory of such files")
		}
		if info.IsDir() && isEmpty(arg) {
			continue // The first run of a series has nothing before it.
		}
		if !info.IsDir() && !documents.IsFile(arg) {
			return nil, hint.With(fmt.Errorf("--baseline: %s has none of the endings .json, .yaml, .yml and .zst", arg), "nodrop run -o json --output-file writes a result")
		}
		if err := eachResult(ctx, &documents.Source{}, []string{arg}, func(_ string, d *report.Document) error { return found.Add(d) }, nil); err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
	}
	return found.Found(), nil
}

// isEmpty reports whether a directory has no results.
func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && documents.IsFile(e.Name()) })
}

// sayMissing prints the gates that will be inconclusive because their baseline is missing.
func sayMissing(stderr io.Writer, bundle *manifest.Bundle, baselines map[string]gate.Baseline) {
	for _, g := range bundle.Benchmark.Spec.Gates {
		if b := baselines[g.Name]; g.Relative != nil && b.Missing != "" {
			fmt.Fprintf(stderr, "nodrop: gate %s will be inconclusive: %s\nhint: --baseline gives results to compare with\n", g.Name, b.Missing)
		}
	}
}

// judged makes the verdict of the gates a part of the outcome.
func judged(c report.Content) report.Content {
	status := &c.Benchmark.Status
	status.Outcome, status.Message = report.Judge(c).Outcome(status.Outcome, status.Message)
	status.Phase = status.Outcome
	return c
}
