package manifest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/device/parameters"
	"nodrop.dev/nodrop/internal/manifests/requirements"
)

// Tables are the texts of the tables of a modelled device; empty where it has none.
type Tables struct {
	// Model is the device model.
	Model string
	// JitterAverageByLoad and JitterMaximumByLoad are the tables of jitter by load.
	JitterAverageByLoad, JitterMaximumByLoad string
}

// Bundle is a benchmark with everything that it refers to, checked and with
// defaults filled in.
type Bundle struct {
	// Benchmark, Profile and Bed as the API server would store them.
	Benchmark v1alpha1.Benchmark
	Profile   v1alpha1.TrafficProfile
	Bed       v1alpha1.TestBed
	// Tables are the texts of the tables of a modelled device by variant: of the
	// device as it is, without a name, and of those variants that the benchmark names
	// and the bed has. Empty when the device is not modelled.
	Tables map[v1alpha1.VariantName]Tables
	// Configurations are the texts that a device with management, or a machine, has in the variants that the benchmark
	// names, and its base without a name. Empty where people configure the device.
	Configurations map[v1alpha1.VariantName]string
	// ConfigMaps of the device by name: those that have its tables. A topology of
	// containerlab is not among them.
	ConfigMaps map[string]*corev1.ConfigMap
	// Files are the files that contain the benchmark, profile, bed and model, each once.
	Files []string

	// benchmark, profile and bed are the documents that contain them.
	benchmark, profile, bed *document
}

// Resolve finds a benchmark and what it refers to. Without a name it takes the
// only benchmark of the files that were given.
//
// A namespace that is not written matches every other, as it would when the
// files are applied together. A topology of containerlab is not searched.
func (s *Set) Resolve(name string) (*Bundle, error) {
	d, err := s.documents.benchmark(name)
	if err != nil {
		return nil, err
	}
	return s.resolve(d)
}

// ResolveGiven finds what one of Benchmarks refers to.
func (s *Set) ResolveGiven(b Given) (*Bundle, error) {
	if b.err != nil {
		return nil, b.err
	}
	return s.resolve(b.of)
}

// resolve finds what the benchmark of a document refers to.
func (s *Set) resolve(d *document) (*Bundle, error) {
	r := s.resolver()
	if err := r.benchmark(d); err != nil {
		return nil, err
	}
	for _, find := range []func() error{r.profile, r.findBed, r.models, r.configurations} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	return r.bundle, nil
}

// resolver finds what a benchmark refers to, and fills its bundle.
type resolver struct {
	documents *collection
	overrides []Override
	bundle    *Bundle
}

// resolver returns a resolver with an empty bundle.
func (s *Set) resolver() *resolver {
	return &resolver{documents: &s.documents, overrides: s.overrides, bundle: &Bundle{}}
}

// benchmark takes the benchmark of a document.
func (r *resolver) benchmark(d *document) error {
	r.bundle.benchmark = d
	if err := d.override(r.overrides); err != nil {
		return err
	}
	if problems := d.into(&r.bundle.Benchmark); problems != nil {
		return &InvalidError{Problems: problems}
	}
	r.bundle.found(d)
	return nil
}

// models finds the tables of the device and of its variants.
func (r *resolver) models() (err error) {
	all := r.bundle.Bed.Spec.Device
	if all.Simulated == nil {
		return nil
	}
	own := func(member string) string { return "spec.device.simulated." + member }
	r.bundle.Tables = map[v1alpha1.VariantName]Tables{}
	if r.bundle.Tables[""], err = r.tables(all.Simulated, own); err != nil {
		return err
	}
	for i, v := range all.Variants {
		if !slices.Contains(r.bundle.Benchmark.Spec.Variants, v.Name) {
			continue
		}
		device, _ := all.As(v.Name)
		path := own
		if v.Simulated != nil && v.Simulated.Model != nil {
			path = func(member string) string { return fmt.Sprintf("spec.device.variants[%d].simulated.%s", i, member) }
		}
		if r.bundle.Tables[v.Name], err = r.tables(device.Simulated, path); err != nil {
			return err
		}
	}
	return nil
}

// configurations finds the texts that a device is configured with.
func (r *resolver) configurations() (err error) {
	all := r.bundle.Bed.Spec.Device
	own, path := all.Source()
	if own == nil || all.Containerlab != nil { // Without a cluster a router takes the place of a node.
		return nil
	}
	base, _, err := r.text(own.ConfigMapRef, "spec.device."+path+".configuration.configMapRef")
	if err != nil {
		return err
	}
	r.bundle.Configurations = map[v1alpha1.VariantName]string{"": base}
	for i, v := range all.Variants {
		if !slices.Contains(r.bundle.Benchmark.Spec.Variants, v.Name) {
			continue
		}
		text := base
		if source, member := v.Source(); source != nil {
			if text, _, err = r.text(source.ConfigMapRef, fmt.Sprintf("spec.device.variants[%d].%s.configuration.configMapRef", i, member)); err != nil {
				return err
			}
		}
		if _, err := parameters.Fill(text, &all, v.Name, nil); err != nil {
			_, member := v.Source()
			return &InvalidError{Problems: []Problem{r.bundle.bed.problem(fmt.Sprintf("spec.device.variants[%d].%s.parameters", i, member), err.Error(), "")}}
		}
		r.bundle.Configurations[v.Name] = text
	}
	return nil
}

func (b *Bundle) found(d *document) {
	if !slices.Contains(b.Files, d.source.file) {
		b.Files = append(b.Files, d.source.file)
	}
}

// profile finds the traffic profile of the benchmark.
func (r *resolver) profile() error {
	benchmark := r.bundle.benchmark
	name := r.bundle.Benchmark.Spec.TrafficProfileName
	found := r.documents.find(func(d *document) bool {
		return d.kind == "TrafficProfile" && d.name == name &&
			(d.namespace == benchmark.namespace || d.namespace == "" || benchmark.namespace == "")
	})
	if found == nil {
		return r.documents.notFound(benchmark, "spec.trafficProfileName", "TrafficProfile", name, r.documents.names("TrafficProfile"))
	}
	d, err := only(near(benchmark, found))
	if err != nil {
		return err
	}
	r.bundle.profile = d
	if err := d.override(r.overrides); err != nil {
		return err
	}
	if problems := d.into(&r.bundle.Profile); problems != nil {
		return &InvalidError{Problems: problems}
	}
	r.bundle.Profile = *r.bundle.Profile.For(&r.bundle.Benchmark.Spec)
	r.bundle.Profile.Namespace = r.bundle.Benchmark.Namespace
	r.bundle.found(d)
	return nil
}

// findBed finds the bed of the benchmark: by its name, its labels or its requirements.
func (r *resolver) findBed() error {
	benchmark := r.bundle.benchmark
	spec := &r.bundle.Benchmark.Spec
	switch {
	case spec.TestBedSelector != nil:
		return r.selectBed()
	case spec.TestBedRequirements != nil:
		return r.requireBed()
	}
	found := r.documents.find(func(d *document) bool { return d.kind == "TestBed" && d.name == spec.TestBedName })
	if found == nil {
		return r.documents.notFound(benchmark, "spec.testBedName", "TestBed", spec.TestBedName, r.documents.names("TestBed"))
	}
	d, err := only(near(benchmark, found))
	if err != nil {
		return err
	}
	return r.takeBed(d)
}

// takeBed takes a bed that was found.
func (r *resolver) takeBed(d *document) error {
	r.bundle.bed = d
	if err := d.override(r.overrides); err != nil {
		return err
	}
	if problems := d.into(&r.bundle.Bed); problems != nil {
		return &InvalidError{Problems: problems}
	}
	r.bundle.found(d)
	return nil
}

// selectBed takes the first bed by name that the selector matches.
func (r *resolver) selectBed() error {
	benchmark := r.bundle.benchmark
	selector, err := metav1.LabelSelectorAsSelector(r.bundle.Benchmark.Spec.TestBedSelector)
	if err != nil {
		return &InvalidError{Problems: []Problem{benchmark.problem("spec.testBedSelector", err.Error(), "")}}
	}
	found := r.documents.find(func(d *document) bool {
		return d.kind == "TestBed" && selector.Matches(labelsOf(d))
	})
	if found == nil {
		problem := benchmark.problem("spec.testBedSelector", fmt.Sprintf("no TestBed has the labels %s", selector), "")
		return hint.With(&InvalidError{Problems: []Problem{problem}}, r.documents.where(fmt.Sprintf("the beds found are %s", list(r.documents.names("TestBed")))))
	}
	return r.takeBed(slices.MinFunc(found, func(a, b *document) int { return strings.Compare(a.name, b.name) }))
}

// requireBed takes the first bed by name that has what the benchmark asks for.
func (r *resolver) requireBed() error {
	benchmark := r.bundle.benchmark
	asked := r.bundle.Benchmark.Spec.TestBedRequirements
	found := r.documents.find(func(d *document) bool {
		bed := &v1alpha1.TestBed{}
		return d.kind == "TestBed" && d.into(bed) == nil && len(requirements.Lacks(bed, asked)) == 0
	})
	if found == nil {
		problem := benchmark.problem("spec.testBedRequirements", "no TestBed has all of this: "+requirements.Format(asked), "")
		return hint.With(&InvalidError{Problems: []Problem{problem}}, r.documents.where(fmt.Sprintf("the beds found are %s", list(r.documents.names("TestBed")))))
	}
	return r.takeBed(slices.MinFunc(found, func(a, b *document) int { return strings.Compare(a.name, b.name) }))
}

func labelsOf(d *document) labels.Set {
	set := labels.Set{}
	metadata, _ := d.object["metadata"].(map[string]any)
	values, _ := metadata["labels"].(map[string]any)
	for key, value := range values {
		if text, isText := value.(string); isText {
			set[key] = text
		}
	}
	return set
}

// tables finds the texts of a modelled device. path returns the path of a member of the device in
// the bed.
func (r *resolver) tables(device *v1alpha1.SimulatedDevice, path func(member string) string) (tables Tables, err error) {
	for _, t := range []struct {
		member string
		source *v1alpha1.ModelSource
		into   *string
	}{
		{"model", &device.Model, &tables.Model},
		{"jitterAverageByLoad", device.JitterAverageByLoad, &tables.JitterAverageByLoad},
		{"jitterMaximumByLoad", device.JitterMaximumByLoad, &tables.JitterMaximumByLoad},
	} {
		if t.source == nil {
			continue
		}
		if *t.into, err = r.key(t.source.ConfigMapRef, path(t.member)+".configMapRef"); err != nil {
			return Tables{}, err
		}
	}
	return tables, nil
}

// key finds the text that a field of the bed refers to, and keeps its ConfigMap.
func (r *resolver) key(ref v1alpha1.ConfigMapKeyReference, path string) (string, error) {
	text, configMap, err := r.text(ref, path)
	if err != nil {
		return "", err
	}
	if r.bundle.ConfigMaps == nil {
		r.bundle.ConfigMaps = map[string]*corev1.ConfigMap{}
	}
	r.bundle.ConfigMaps[ref.Name] = configMap
	return text, nil
}

// text finds the text that a field of the bed refers to, and its ConfigMap.
func (r *resolver) text(ref v1alpha1.ConfigMapKeyReference, path string) (string, *corev1.ConfigMap, error) {
	bed := r.bundle.bed
	found := r.documents.find(func(d *document) bool { return d.isConfigMap() && d.name == ref.Name })
	if found == nil {
		return "", nil, r.documents.notFound(bed, path+".name", "ConfigMap", ref.Name, r.documents.names("ConfigMap"))
	}
	d, err := only(near(bed, found))
	if err != nil {
		return "", nil, err
	}
	configMap, problems := d.configMap()
	if problems != nil {
		return "", nil, &InvalidError{Problems: problems}
	}
	text, has := configMap.Data[ref.Key]
	if !has {
		var keys []string
		for key := range configMap.Data {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		problem := bed.problem(path+".key", fmt.Sprintf("ConfigMap %q in %s has no key %q", ref.Name, d.source.file, ref.Key), "")
		return "", nil, hint.With(&InvalidError{Problems: []Problem{problem}}, oneOf("its keys are", ref.Key, keys))
	}
	r.bundle.found(d)
	return text, configMap, nil
}

// Invalid turns problems that concern several objects into problems of the
// files. Their paths begin with spec for the benchmark, and with kind/name for
// the others: TrafficProfile/pairs.spec.frameSizes[0]. It returns nil without
// problems.
func (b *Bundle) Invalid(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	invalid := &InvalidError{}
	for _, err := range errs {
		kind, name, path := "Benchmark", b.Benchmark.Name, err.Field
		if object, rest, found := strings.Cut(err.Field, "/"); found && !strings.Contains(object, ".") {
			kind = object
			name, path, _ = strings.Cut(rest, ".spec")
			path = "spec" + path
		}
		problem := Problem{Object: fmt.Sprintf("%s %q", kind, name), Field: path, Text: err.ErrorBody()}
		if d := map[string]*document{"Benchmark": b.benchmark, "TrafficProfile": b.profile, "TestBed": b.bed}[kind]; d != nil {
			if d.follows(path) {
				continue
			}
			problem = d.problem(path, err.ErrorBody(), "")
		}
		invalid.Problems = append(invalid.Problems, problem)
	}
	if len(invalid.Problems) == 0 {
		return nil
	}
	return invalid
}
