package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/manifests/manifestcheck"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// manifestFlags select the manifests that a command reads, and the changes to them.
type manifestFlags struct {
	files      []string
	recursive  bool
	set        []string
	policyFile string
}

// addFlags adds the flags of a command that reads manifests.
func (m *manifestFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&m.files, "filename", "f", nil, "file or directory with manifests, - for stdin; may be repeated")
	cmd.Flags().BoolVarP(&m.recursive, "recursive", "R", false, "read also the directories in a directory that is given with -f")
	cmd.Flags().StringArrayVar(&m.set, "set", nil, "PATH=VALUE in place of what the manifests say, such as benchmark.spec.tests[0].throughput.trialDuration=5s; may be repeated")
	cmd.Flags().StringVar(&m.policyFile, "default-policy-file", "", "file with the default policy of the lab, for a bed that does not say which frames may be sent on it")
}

// load reads the manifests, and the policy, which is nil without a file.
func (m *manifestFlags) load(cmd *cobra.Command, stdin io.Reader) (*manifest.Set, *v1alpha1.TrafficPolicy, error) {
	if len(m.files) == 0 {
		return nil, nil, hint.With(errors.New("no manifest given"), cmd.CommandPath()+" -f benchmark.yaml")
	}
	var overrides []manifest.Override
	for _, text := range m.set {
		override, err := manifest.ParseOverride(text)
		if err != nil {
			return nil, nil, fmt.Errorf("--set: %w", err)
		}
		overrides = append(overrides, override)
	}
	var defaultPolicy *v1alpha1.TrafficPolicy
	if m.policyFile != "" {
		var err error
		if defaultPolicy, err = manifest.ReadPolicy(m.policyFile); err != nil {
			return nil, nil, fmt.Errorf("--default-policy-file: %w", err)
		}
	}
	set, err := manifest.Load(m.files, stdin, manifest.Recursive(m.recursive), manifest.With(overrides))
	return set, defaultPolicy, withHidden(err, set, defaultPolicy)
}

// withHidden adds to the problems of manifests those that they hide: what else is wrong when
// misspelt fields and values are as they were probably meant.
func withHidden(err error, set *manifest.Set, defaultPolicy *v1alpha1.TrafficPolicy) error {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) || set == nil {
		return err
	}
	meant, further := set.Amended()
	var all complaints
	all.add(err)
	for _, p := range further {
		all.problems = appendNew(all.problems, p)
	}
	for _, b := range meant.Benchmarks() {
		if bundle, err := meant.ResolveGiven(b); err == nil {
			all.add(manifestcheck.Fits(bundle, defaultPolicy))
		}
	}
	if len(meant.Benchmarks()) == 0 {
		if err := meant.Alone(plan.ValidateProfile, plan.ValidateBed); errors.As(err, &invalid) {
			all.add(err)
		}
	}
	return all.join()
}

// read reads a benchmark and what it refers to, and refuses what is known to be wrong
// before anything runs. Without a name it is the only benchmark.
func (m *manifestFlags) read(cmd *cobra.Command, stdin io.Reader, name string) (*manifest.Bundle, error) {
	set, defaultPolicy, err := m.load(cmd, stdin)
	if err != nil {
		return nil, err
	}
	bundle, err := set.Resolve(name)
	if err != nil {
		return nil, err
	}
	return bundle, manifestcheck.Fits(bundle, defaultPolicy)
}

// notes returns a note for the result for each change to the manifests.
func (m *manifestFlags) notes() []string {
	var notes []string
	for _, text := range m.set {
		notes = append(notes, "the manifests were changed for this run by --set "+text)
	}
	return notes
}

// nameIn is the only argument of a command, or empty.
func nameIn(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return ""
}
