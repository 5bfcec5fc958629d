//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// fieldManager owns the fields that "run --wait" applies.
const fieldManager = "nodrop-cli"

// toApply are the objects of manifests that a team applies for a run.
type toApply struct {
	profiles, benchmarks []*unstructured.Unstructured
	// files contains the files of the benchmarks, by name.
	files map[string]string
	// leftOut are the objects that others apply, by kind and name.
	leftOut []string
}

// chooseObjects takes the benchmarks and profiles of manifests, in a namespace: all, or the named
// benchmark with its profile.
func chooseObjects(objects []manifest.Object, namespace string, asked bool, name string) (*toApply, error) {
	chosen := &toApply{files: map[string]string{}}
	var names []string
	profile := ""
	for _, o := range objects {
		if o.Kind == "Benchmark" {
			names = append(names, o.Name)
			if o.Name == name {
				profile, _, _ = unstructured.NestedString(o.Content, "spec", "trafficProfileName")
			}
		}
	}
	switch {
	case len(names) == 0:
		return nil, hint.With(errors.New("no Benchmark in what was given with -f"), "name the file or the directory with the Benchmark")
	case name != "" && !slices.Contains(names, name):
		return nil, hint.With(fmt.Errorf("no Benchmark is called %q", name), "the benchmarks given are "+strings.Join(names, ", "))
	}
	for _, o := range objects {
		u := &unstructured.Unstructured{Object: o.Content}
		switch {
		case o.Kind != "Benchmark" && o.Kind != "TrafficProfile":
			chosen.leftOut = append(chosen.leftOut, o.Kind+" "+o.Name)
			continue
		case asked && o.Namespace != "" && o.Namespace != namespace:
			return nil, hint.With(fmt.Errorf("%s %s in %s is of namespace %s, and -n is %s", o.Kind, o.Name, o.File, o.Namespace, namespace), "leave -n out, or metadata.namespace")
		case o.Namespace == "":
			u.SetNamespace(namespace)
		}
		switch {
		case o.Kind == "TrafficProfile" && (name == "" || o.Name == profile):
			chosen.profiles = append(chosen.profiles, u)
		case o.Kind == "Benchmark" && (name == "" || o.Name == name):
			chosen.benchmarks = append(chosen.benchmarks, u)
			chosen.files[o.Name] = o.File
		}
	}
	return chosen, nil
}

// rename gives benchmarks and profiles names with a suffix, and benchmarks the history of the
// name that is written, so that gates and trends see all runs of the file.
func (a *toApply) rename(suffix string) error {
	if suffix == "" {
		return nil
	}
	if problems := validation.IsDNS1123Subdomain("x-" + suffix); len(problems) > 0 {
		return hint.With(fmt.Errorf("--name-suffix is %q, with which no object can be named", suffix), "give lower-case letters, digits and dashes, such as a commit: git rev-parse --short HEAD")
	}
	renamed := map[client.ObjectKey]string{}
	for _, p := range a.profiles {
		renamed[client.ObjectKeyFromObject(p)] = p.GetName() + "-" + suffix
		p.SetName(p.GetName() + "-" + suffix)
	}
	for _, b := range a.benchmarks {
		old := b.GetName()
		b.SetName(old + "-" + suffix)
		a.files[b.GetName()] = a.files[old]
		if _, given, _ := unstructured.NestedString(b.Object, "spec", "historyName"); !given {
			if err := unstructured.SetNestedField(b.Object, old, "spec", "historyName"); err != nil {
				return fmt.Errorf("benchmark %s: %w", old, err)
			}
		}
		profile, _, _ := unstructured.NestedString(b.Object, "spec", "trafficProfileName")
		if name := renamed[client.ObjectKey{Namespace: b.GetNamespace(), Name: profile}]; name != "" {
			if err := unstructured.SetNestedField(b.Object, name, "spec", "trafficProfileName"); err != nil {
				return fmt.Errorf("benchmark %s: %w", old, err)
			}
		}
	}
	return nil
}

func (a *toApply) fileOf(benchmark string) string { return a.files[benchmark] }

// sayLeftOut names what is not applied.
func (a *toApply) sayLeftOut(stderr io.Writer) {
	if len(a.leftOut) > 0 {
		fmt.Fprintf(stderr, "nodrop: not applied, since only benchmarks and profiles are: %s\n", strings.Join(a.leftOut, ", "))
	}
}

// apply applies the profiles and then the benchmarks, of which none is made when the cluster
// refuses one. With owned a profile goes when the last benchmark goes that uses it.
func (a *toApply) apply(ctx context.Context, c client.Client, owned bool, stderr io.Writer) ([]client.ObjectKey, error) {
	for _, p := range a.profiles {
		if _, err := applyObject(ctx, c, p); err != nil {
			return nil, err
		}
	}
	for _, b := range a.benchmarks {
		if _, err := applyObject(ctx, c, b, client.DryRunAll); err != nil {
			return nil, err
		}
	}
	var keys []client.ObjectKey
	owners := map[client.ObjectKey][]any{}
	for _, b := range a.benchmarks {
		was := &v1alpha1.Benchmark{}
		existed := c.Get(ctx, client.ObjectKeyFromObject(b), was) == nil
		there, err := applyObject(ctx, c, b)
		if err != nil {
			return nil, err
		}
		key := client.ObjectKeyFromObject(b)
		keys = append(keys, key)
		if existed {
			fmt.Fprintf(stderr, "nodrop: benchmark %s is there since %s, and nothing in it changed: it is not measured again\n", key, was.CreationTimestamp.UTC().Format("2006-01-02 15:04:05 UTC"))
		} else {
			fmt.Fprintf(stderr, "nodrop: applied benchmark %s\n", key)
		}
		profile, _, _ := unstructured.NestedString(b.Object, "spec", "trafficProfileName")
		of := client.ObjectKey{Namespace: key.Namespace, Name: profile}
		owners[of] = append(owners[of], map[string]any{"apiVersion": b.GetAPIVersion(), "kind": b.GetKind(), "name": key.Name, "uid": string(there.GetUID())})
	}
	for _, p := range a.profiles {
		by := owners[client.ObjectKeyFromObject(p)]
		if !owned || by == nil {
			continue
		}
		if err := unstructured.SetNestedSlice(p.Object, by, "metadata", "ownerReferences"); err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.GetName(), err)
		}
		if _, err := applyObject(ctx, c, p); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// applyObject applies an object without force, and returns what the server made of it.
func applyObject(ctx context.Context, c client.Client, o *unstructured.Unstructured, options ...client.ApplyOption) (*unstructured.Unstructured, error) {
	result := o.DeepCopy()
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(result), append(options, client.FieldOwner(fieldManager))...)
	what := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
	switch {
	case err == nil:
		return result, nil
	case apierrors.IsConflict(err):
		return nil, hint.With(fmt.Errorf("%s is owned by another tool, which has other values: %w", what, err),
			"change it where that tool takes it from, or give the files without it, or run under names of your own with --name-suffix")
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "cannot be changed after it was admitted"):
		return nil, hint.With(fmt.Errorf("%s is there with another spec: %w", what, err), "give --name-suffix, such as the commit, so that each run has a benchmark of its own")
	case apierrors.IsInvalid(err):
		return nil, fmt.Errorf("%s is refused: %w", what, err)
	case apierrors.IsForbidden(err):
		return nil, hint.With(err, "ask for the ClusterRole edit (nodrop-edit is part of it) in this namespace, or choose another with -n")
	}
	return nil, cluster.Unreachable(err)
}

// reportFiles are the endings of the reports of a benchmark, by format.
var reportFiles = []struct {
	ending string
	format report.Format
}{{".html", report.FormatHTML}, {".json", report.FormatJSON}, {".xml", report.FormatJUnit}, {".sarif", report.FormatSARIF}}

// writeReports writes the reports of a benchmark; nothing without a directory.
func writeReports(dir, name string, document *report.Document) error {
	if dir == "" {
		return nil
	}
	for _, f := range reportFiles {
		file, err := os.Create(filepath.Join(dir, name+f.ending))
		if err != nil {
			return fmt.Errorf("--report-dir: %w", err)
		}
		if err := errors.Join(document.Write(file, f.format), file.Close()); err != nil {
			return fmt.Errorf("--report-dir: %w", err)
		}
	}
	return nil
}
