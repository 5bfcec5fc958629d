package main

import (
	"io"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifest"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/policy"
)

// readBenchmark reads a benchmark and what it refers to from files, and refuses what is
// known to be wrong before anything runs. Without a name it is the only one. The policy
// may be nil. The set names the files in what is refused later.
func readBenchmark(files []string, stdin io.Reader, name string, defaultPolicy *v1alpha1.TrafficPolicy) (*manifest.Set, *manifest.Bundle, error) {
	set, err := manifest.Load(files, stdin)
	if err != nil {
		return nil, nil, err
	}
	bundle, err := set.Resolve(name)
	if err != nil {
		return nil, nil, err
	}
	if err := set.Invalid(bundle, plan.Validate(&bundle.Benchmark, &bundle.Profile, &bundle.Bed)); err != nil {
		return nil, nil, err
	}
	if err := set.Invalid(bundle, policy.Check(&bundle.Benchmark, &bundle.Profile, &bundle.Bed, defaultPolicy)); err != nil {
		return nil, nil, err
	}
	return set, bundle, nil
}

// nameIn is the only argument of a command, or empty.
func nameIn(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return ""
}
