package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/manifests/requirements"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// Allows reports whether any grant of a bed selects a namespace.
func Allows(bed *v1alpha1.TestBed, namespace *corev1.Namespace) bool {
	return slices.ContainsFunc(bed.Spec.Access, func(g v1alpha1.AccessGrant) bool { return grants(g, namespace) })
}

// Wish contains the demands of a benchmark on a bed, parsed once for many beds.
type Wish struct {
	spec     *v1alpha1.BenchmarkSpec
	selector labels.Selector
}

// NewWish parses what a benchmark asks for.
func NewWish(b *v1alpha1.Benchmark) *Wish {
	return &Wish{spec: &b.Spec, selector: selection.Compile(b.Spec.TestBedSelector)}
}

// Wants reports whether the benchmark names the bed, or selects it by its labels or by what it
// has.
func (w *Wish) Wants(bed *v1alpha1.TestBed) bool {
	switch {
	case w.spec.TestBedName != "":
		return w.spec.TestBedName == bed.Name
	case w.spec.TestBedRequirements != nil:
		return len(requirements.Lacks(bed, w.spec.TestBedRequirements)) == 0
	}
	return w.selector.Matches(labels.Set(bed.Labels))
}

// Grant returns the grant under which a benchmark may have a bed: of those that
// select its namespace and that it fits in, the one that allows the most to run at once.
// It returns false when there is none.
func Grant(bed *v1alpha1.TestBed, namespace *corev1.Namespace, r Request) (v1alpha1.AccessGrant, bool) {
	var best *v1alpha1.AccessGrant
	for i := range bed.Spec.Access {
		g := &bed.Spec.Access[i]
		if !grants(*g, namespace) || len(beyond(bed, g, r)) > 0 {
			continue
		}
		if best == nil || (best.MaxRunning != 0 && (g.MaxRunning == 0 || g.MaxRunning > best.MaxRunning)) {
			best = g
		}
	}
	if best == nil {
		return v1alpha1.AccessGrant{}, false
	}
	return *best, true
}

// Limit bounds how many benchmarks with one key hold beds at once.
type Limit struct {
	// Key identifies the limit: a benchmark that holds a bed counts for the keys of its
	// own limits on that bed.
	Key string
	// Max is the maximum number of benchmarks that hold beds at once, including the
	// requested one.
	Max int
}

// Limits are the bounds of a benchmark on a bed; the allocator counts. There are none where its grant has no maxRunning, or where it has no grant.
func Limits(bed *v1alpha1.TestBed, namespace *corev1.Namespace, r Request) []Limit {
	if g, granted := Grant(bed, namespace, r); granted && g.MaxRunning > 0 {
		return []Limit{{Key: "namespace/" + namespace.Name, Max: int(g.MaxRunning)}}
	}
	return nil
}

// MayReserve returns the reason why a namespace may not reserve a bed for a time; empty if
// it may. A reservation needs a grant with at least this maxDuration.
func MayReserve(bed *v1alpha1.TestBed, namespace *corev1.Namespace, length time.Duration) string {
	longest := time.Duration(-1)
	for i := range bed.Spec.Access {
		if g := &bed.Spec.Access[i]; grants(*g, namespace) {
			longest = max(longest, g.MaxDuration.Duration)
		}
	}
	switch {
	case longest < 0:
		return fmt.Sprintf("TestBed %s does not allow namespace %s: choose another, or ask the bed's owner to add this to spec.access: {names: [%s], maxDuration: %s}",
			bed.Name, namespace.Name, namespace.Name, human.Duration(length))
	case length > longest:
		return fmt.Sprintf("the grant of namespace %s on TestBed %s has the bed for at most %s, and the reservation takes %s: give an earlier until, or ask the bed's owner for a grant with maxDuration: %s",
			namespace.Name, bed.Name, human.Duration(longest), human.Duration(length), human.Duration(length))
	}
	return ""
}

// grants reports whether a grant selects a namespace.
func grants(g v1alpha1.AccessGrant, namespace *corev1.Namespace) bool {
	return slices.Contains(g.Names, namespace.Name) || Selects(g.Selector, namespace.Labels)
}

// bound is a field of a benchmark that a grant bounds.
type bound struct {
	path  *field.Path
	value any
	// had is the bound, and lower the advice how to keep it.
	had, lower string
}

// Request contains the properties of a benchmark that a grant limits.
type Request struct {
	// Priority with the name of its class, if it has one.
	Priority int32
	Class    string
	// Lease is the time for which it may have the bed.
	Lease time.Duration
	// Variants of the device that it chooses.
	Variants []v1alpha1.VariantName
	// Parameters of the device that it chooses.
	Parameters []v1alpha1.ChosenParameter
	// Tests that it consists of: some choose lists of the device.
	Tests []v1alpha1.Test
}

// NewRequest returns the request of a benchmark, with the priority of its class. The policy
// may be nil.
func NewRequest(policy *v1alpha1.LabPolicy, b *v1alpha1.Benchmark) Request {
	priority, _ := team.Priority(policy, b)
	return Request{
		Priority: priority, Class: b.Spec.PriorityClassName, Lease: time.Duration(b.Spec.ActiveDeadlineSeconds) * time.Second,
		Variants: b.Spec.Variants, Parameters: b.Spec.DeviceParameters, Tests: b.Spec.Tests,
	}
}

// beyond are the fields of a benchmark that are beyond a grant of a bed.
func beyond(bed *v1alpha1.TestBed, g *v1alpha1.AccessGrant, r Request) []bound {
	var out []bound
	if r.Priority > g.MaxPriority {
		b := bound{
			path: field.NewPath("spec", "priority"), value: r.Priority,
			had: fmt.Sprintf("a priority up to %d", g.MaxPriority), lower: fmt.Sprintf("give at most %d", g.MaxPriority),
		}
		if r.Class != "" {
			b.path, b.value = field.NewPath("spec", "priorityClassName"), r.Class
			b.had += fmt.Sprintf(", and the class has %d", r.Priority)
			b.lower = "name a lower class"
		}
		out = append(out, b)
	}
	if r.Lease > g.MaxDuration.Duration {
		out = append(out, bound{
			path: field.NewPath("spec", "activeDeadlineSeconds"), value: int64(r.Lease / time.Second),
			had:   fmt.Sprintf("the bed for at most %s", human.Duration(g.MaxDuration.Duration)),
			lower: fmt.Sprintf("give at most %d", int64(g.MaxDuration.Duration/time.Second)),
		})
	}
	for i, v := range r.Variants {
		if len(g.Variants) > 0 && !slices.Contains(g.Variants, v) {
			allowed := listed(g.Variants)
			out = append(out, bound{
				path: field.NewPath("spec", "variants").Index(i), value: v,
				had: "only the variants " + allowed, lower: "name only " + allowed,
			})
		}
	}
	if len(g.DeviceParameters) > 0 {
		out = append(out, beyondParameters(g, r)...)
	}
	if len(g.Scales) > 0 {
		out = append(out, beyondScales(bed, g, r)...)
	}
	return out
}

// beyondParameters are the values of parameters that a grant does not allow.
func beyondParameters(g *v1alpha1.AccessGrant, r Request) []bound {
	var out []bound
	var names []string
	for _, p := range g.DeviceParameters {
		names = append(names, string(p.Name))
	}
	root := field.NewPath("spec", "deviceParameters")
	for i, chosen := range r.Parameters {
		at := slices.IndexFunc(g.DeviceParameters, func(p v1alpha1.ParameterGrant) bool { return p.Name == chosen.Name })
		if at < 0 {
			allowed := strings.Join(names, ", ")
			out = append(out, bound{path: root.Index(i).Child("name"), value: chosen.Name, had: "only the parameters " + allowed, lower: "choose only " + allowed})
			continue
		}
		if bounds := &g.DeviceParameters[at].ParameterBounds; !bounds.Allow(chosen.Value) {
			out = append(out, bound{
				path: root.Index(i).Child("value"), value: chosen.Value,
				had: fmt.Sprintf("the parameter %s with %s", chosen.Name, bounds), lower: "give such a value",
			})
		}
	}
	return out
}

// listed returns names as a list for people.
func listed(names []v1alpha1.VariantName) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = string(name)
	}
	return strings.Join(all, ", ")
}

// beyondAll are problems of a benchmark whose namespace has grants on a bed, of which
// none is enough: what is beyond the one that comes closest.
func beyondAll(bed *v1alpha1.TestBed, namespace *corev1.Namespace, r Request) field.ErrorList {
	var closest []bound
	for i := range bed.Spec.Access {
		if g := &bed.Spec.Access[i]; grants(*g, namespace) {
			if missing := beyond(bed, g, r); closest == nil || len(missing) < len(closest) {
				closest = missing
			}
		}
	}
	var problems field.ErrorList
	for _, m := range closest {
		problems = append(problems, field.Invalid(m.path, m.value, fmt.Sprintf(
			"the grant of namespace %s on TestBed %s has %s: %s, or ask the bed's owner to add this to spec.access: %s",
			namespace.Name, bed.Name, m.had, m.lower, neededGrant(bed, namespace, r))))
	}
	return problems
}

// neededGrant is the grant that a benchmark needs, as YAML in one line.
func neededGrant(bed *v1alpha1.TestBed, namespace *corev1.Namespace, r Request) string {
	members := []string{fmt.Sprintf("names: [%s]", namespace.Name)}
	if r.Priority > 0 {
		members = append(members, fmt.Sprintf("maxPriority: %d", r.Priority))
	}
	members = append(members, "maxDuration: "+human.Duration(r.Lease))
	if len(r.Variants) > 0 {
		members = append(members, "variants: ["+listed(r.Variants)+"]")
	}
	if len(r.Parameters) > 0 {
		all := make([]string, len(r.Parameters))
		for i, p := range r.Parameters {
			all[i] = fmt.Sprintf("{name: %s, values: [%q]}", p.Name, p.Value)
		}
		members = append(members, "deviceParameters: ["+strings.Join(all, ", ")+"]")
	}
	if lists := neededScales(bed, r); lists != "" {
		members = append(members, "scales: ["+lists+"]")
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// Selects reports whether a selector selects these labels. It is false for a selector that is absent or malformed; the form is
// checked where the selector is admitted.
func Selects(selector *metav1.LabelSelector, set map[string]string) bool {
	return selection.Compile(selector).Matches(labels.Set(set))
}
