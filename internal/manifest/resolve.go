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
	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/requirements"
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
	d, err := s.benchmark(name)
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

func (s *Set) resolve(d *document) (*Bundle, error) {
	bundle := &Bundle{benchmark: d}
	if err := d.override(s.overrides); err != nil {
		return nil, err
	}
	if problems := d.into(&bundle.Benchmark); problems != nil {
		return nil, &InvalidError{Problems: problems}
	}
	bundle.found(d)
	if err := s.resolveProfile(d, bundle); err != nil {
		return nil, err
	}
	if err := s.resolveBed(d, bundle); err != nil {
		return nil, err
	}
	if err := s.resolveModels(bundle); err != nil {
		return nil, err
	}
	return bundle, nil
}

// resolveModels finds the tables of the device, and those of its variants.
func (s *Set) resolveModels(bundle *Bundle) (err error) {
	all := bundle.Bed.Spec.Device
	if all.Simulated == nil {
		return nil
	}
	own := func(member string) string { return "spec.device.simulated." + member }
	bundle.Tables = map[v1alpha1.VariantName]Tables{}
	if bundle.Tables[""], err = s.resolveTables(all.Simulated, own, bundle); err != nil {
		return err
	}
	for i, v := range all.Variants {
		if !slices.Contains(bundle.Benchmark.Spec.Variants, v.Name) {
			continue
		}
		device, _ := all.As(v.Name)
		path := own
		if v.Simulated != nil && v.Simulated.Model != nil {
			path = func(member string) string { return fmt.Sprintf("spec.device.variants[%d].simulated.%s", i, member) }
		}
		if bundle.Tables[v.Name], err = s.resolveTables(device.Simulated, path, bundle); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bundle) found(d *document) {
	if !slices.Contains(b.Files, d.file) {
		b.Files = append(b.Files, d.file)
	}
}

func (s *Set) benchmark(name string) (*document, error) {
	var given []*document
	var names []string
	for _, d := range s.given {
		if d.kind == "Benchmark" {
			given = append(given, d)
			names = append(names, d.name)
		}
	}
	if len(given) == 0 {
		return nil, hint.With(fmt.Errorf("no Benchmark in what was given with -f: %s", s.inventory()), "name the file with the Benchmark; what it refers to is found in the same directory")
	}
	if name == "" {
		if len(given) > 1 {
			return nil, hint.With(fmt.Errorf("there are %d benchmarks: %s", len(given), strings.Join(names, ", ")), "name the one to run: nodrop run -f FILE NAME")
		}
		return given[0], nil
	}
	var found []*document
	for _, d := range given {
		if d.name == name {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, hint.With(fmt.Errorf("no Benchmark is called %q", name), oneOf("the benchmarks given are", name, names))
	}
	return only(found)
}

// inventory names the objects that were given.
func (s *Set) inventory() string {
	var found []string
	for _, d := range s.given {
		found = append(found, fmt.Sprintf("%s %q in %s", d.kind, d.name, d.file))
	}
	if len(found) == 0 {
		return "there is no object in it"
	}
	return "found " + strings.Join(found, ", ")
}

func (s *Set) resolveProfile(benchmark *document, bundle *Bundle) error {
	name := bundle.Benchmark.Spec.TrafficProfileName
	found := s.find(func(d *document) bool {
		return d.kind == "TrafficProfile" && d.name == name &&
			(d.namespace == benchmark.namespace || d.namespace == "" || benchmark.namespace == "")
	})
	if found == nil {
		return s.notFound(benchmark, "spec.trafficProfileName", "TrafficProfile", name, s.names("TrafficProfile"))
	}
	d, err := only(near(benchmark, found))
	if err != nil {
		return err
	}
	bundle.profile = d
	if err := d.override(s.overrides); err != nil {
		return err
	}
	if problems := d.into(&bundle.Profile); problems != nil {
		return &InvalidError{Problems: problems}
	}
	bundle.Profile = *bundle.Profile.For(&bundle.Benchmark.Spec)
	bundle.Profile.Namespace = bundle.Benchmark.Namespace
	bundle.found(d)
	return nil
}

func (s *Set) resolveBed(benchmark *document, bundle *Bundle) error {
	spec := &bundle.Benchmark.Spec
	switch {
	case spec.TestBedSelector != nil:
		return s.selectBed(benchmark, bundle)
	case spec.TestBedRequirements != nil:
		return s.requireBed(benchmark, bundle)
	}
	found := s.find(func(d *document) bool { return d.kind == "TestBed" && d.name == spec.TestBedName })
	if found == nil {
		return s.notFound(benchmark, "spec.testBedName", "TestBed", spec.TestBedName, s.names("TestBed"))
	}
	d, err := only(near(benchmark, found))
	if err != nil {
		return err
	}
	return s.takeBed(d, bundle)
}

// takeBed takes a bed that was found.
func (s *Set) takeBed(d *document, bundle *Bundle) error {
	bundle.bed = d
	if err := d.override(s.overrides); err != nil {
		return err
	}
	if problems := d.into(&bundle.Bed); problems != nil {
		return &InvalidError{Problems: problems}
	}
	bundle.found(d)
	return nil
}

// selectBed takes the first bed by name that the selector matches.
func (s *Set) selectBed(benchmark *document, bundle *Bundle) error {
	selector, err := metav1.LabelSelectorAsSelector(bundle.Benchmark.Spec.TestBedSelector)
	if err != nil {
		return &InvalidError{Problems: []Problem{benchmark.problem("spec.testBedSelector", err.Error(), "")}}
	}
	found := s.find(func(d *document) bool {
		return d.kind == "TestBed" && selector.Matches(labelsOf(d))
	})
	if found == nil {
		problem := benchmark.problem("spec.testBedSelector", fmt.Sprintf("no TestBed has the labels %s", selector), "")
		return hint.With(&InvalidError{Problems: []Problem{problem}}, s.where(fmt.Sprintf("the beds found are %s", list(s.names("TestBed")))))
	}
	return s.takeBed(slices.MinFunc(found, func(a, b *document) int { return strings.Compare(a.name, b.name) }), bundle)
}

// requireBed takes the first bed by name that has what the benchmark asks for.
func (s *Set) requireBed(benchmark *document, bundle *Bundle) error {
	r := bundle.Benchmark.Spec.TestBedRequirements
	found := s.find(func(d *document) bool {
		bed := &v1alpha1.TestBed{}
		return d.kind == "TestBed" && d.into(bed) == nil && len(requirements.Lacks(bed, r)) == 0
	})
	if found == nil {
		problem := benchmark.problem("spec.testBedRequirements", "no TestBed has all of this: "+requirements.Format(r), "")
		return hint.With(&InvalidError{Problems: []Problem{problem}}, s.where(fmt.Sprintf("the beds found are %s", list(s.names("TestBed")))))
	}
	return s.takeBed(slices.MinFunc(found, func(a, b *document) int { return strings.Compare(a.name, b.name) }), bundle)
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

// resolveTables finds the texts of a modelled device; paths are those of its members in
// the bed.
func (s *Set) resolveTables(device *v1alpha1.SimulatedDevice, path func(member string) string, bundle *Bundle) (tables Tables, err error) {
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
		if *t.into, err = s.resolveKey(t.source.ConfigMapRef, path(t.member)+".configMapRef", bundle); err != nil {
			return Tables{}, err
		}
	}
	return tables, nil
}

// resolveKey finds the text that a field of the bed refers to.
func (s *Set) resolveKey(ref v1alpha1.ConfigMapKeyReference, path string, bundle *Bundle) (string, error) {
	bed := bundle.bed
	found := s.find(func(d *document) bool { return d.isConfigMap() && d.name == ref.Name })
	if found == nil {
		return "", s.notFound(bed, path+".name", "ConfigMap", ref.Name, s.names("ConfigMap"))
	}
	d, err := only(near(bed, found))
	if err != nil {
		return "", err
	}
	configMap, problems := d.configMap()
	if problems != nil {
		return "", &InvalidError{Problems: problems}
	}
	text, has := configMap.Data[ref.Key]
	if !has {
		var keys []string
		for key := range configMap.Data {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		problem := bed.problem(path+".key", fmt.Sprintf("ConfigMap %q in %s has no key %q", ref.Name, d.file, ref.Key), "")
		return "", hint.With(&InvalidError{Problems: []Problem{problem}}, oneOf("its keys are", ref.Key, keys))
	}
	bundle.found(d)
	if bundle.ConfigMaps == nil {
		bundle.ConfigMaps = map[string]*corev1.ConfigMap{}
	}
	bundle.ConfigMaps[ref.Name] = configMap
	return text, nil
}

// only refuses two objects of one name: it is not known which is meant.
func only(found []*document) (*document, error) {
	if len(found) > 1 {
		a, b := found[0], found[1]
		return nil, hint.With(
			fmt.Errorf("%s %q is defined twice: %s:%d and %s:%d", a.kind, a.name, a.file, a.lineOf(""), b.file, b.lineOf("")),
			"name the file with the one to use by -f: files named by -f take precedence over the others in their directories")
	}
	return found[0], nil
}

func (s *Set) notFound(from *document, path, kind, name string, names []string) error {
	problem := from.problem(path, fmt.Sprintf("%s %q not found", kind, name), "")
	text := fmt.Sprintf("no %s was found", kind)
	if elsewhere := s.otherNamespaces(kind, name); len(elsewhere) > 0 {
		text = fmt.Sprintf("it is in namespace %s, and must be in that of the Benchmark, %s", list(elsewhere), from.namespace)
	} else if len(names) > 0 {
		text = oneOf(fmt.Sprintf("the names of kind %s are", kind), name, names)
	}
	return hint.With(&InvalidError{Problems: []Problem{problem}}, s.where(text))
}

// otherNamespaces lists the namespaces that have a TrafficProfile of this name,
// when it was not found in that of the benchmark.
func (s *Set) otherNamespaces(kind, name string) []string {
	var namespaces []string
	for _, d := range slices.Concat(s.given, s.siblings) {
		if kind == "TrafficProfile" && d.kind == kind && d.name == name && !slices.Contains(namespaces, d.namespace) {
			namespaces = append(namespaces, d.namespace)
		}
	}
	return namespaces
}

// where adds what was searched.
func (s *Set) where(text string) string {
	if len(s.searched) > 0 {
		text += "; searched the files given and the other manifests in " + strings.Join(s.searched, ", ")
	}
	if len(s.unread) > 0 {
		text += "; not readable as YAML: " + strings.Join(s.unread, ", ")
	}
	return text
}

func oneOf(intro, name string, names []string) string {
	if meant := nearest(name, names); meant != "" {
		return fmt.Sprintf("did you mean %q? %s %s", meant, intro, list(names))
	}
	return intro + " " + list(names)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
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
