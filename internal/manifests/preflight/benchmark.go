package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/base/spelling"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/manifests/policy"
	"nodrop.dev/nodrop/internal/manifests/requirements"
	"nodrop.dev/nodrop/internal/manifests/team"
	_ "nodrop.dev/nodrop/internal/measure/method" // registers every method with the plan
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/gate"
)

// Input is everything that a benchmark is judged by.
type Input struct {
	// Benchmark that asks.
	Benchmark *v1alpha1.Benchmark
	// Namespace of the benchmark.
	Namespace *corev1.Namespace
	// Profiles of that namespace.
	Profiles []v1alpha1.TrafficProfile
	// Beds of the lab.
	Beds []v1alpha1.TestBed
	// DefaultPolicy contains the frames that may be sent on beds without a policy of their
	// own; nil if the lab has none, so that the built-in policy applies.
	DefaultPolicy *v1alpha1.TrafficPolicy
	// LabPolicy has the priority classes; nil where the lab has none.
	LabPolicy *v1alpha1.LabPolicy
	// Models of simulated devices; nil where they cannot be read.
	Models Models
	// Wish contains the demands of the benchmark if its selector was parsed before; nil otherwise.
	Wish *Wish
	// NoBedFits reports whether it is known that the benchmark can run on no bed. Its tests are then judged with the first bed
	// that it may have, which the problems are of.
	NoBedFits bool
}

// request returns the request of the benchmark to a grant.
func (in Input) request() Request { return NewRequest(in.LabPolicy, in.Benchmark) }

// wish returns what the benchmark asks for.
func (in Input) wish() *Wish {
	if in.Wish != nil {
		return in.Wish
	}
	return NewWish(in.Benchmark)
}

// Answer is the judgement of an Input.
type Answer struct {
	// Profile that the benchmark names, with the frame sizes of the benchmark.
	Profile *v1alpha1.TrafficProfile
	// Beds that the benchmark can run on; empty when Problems is not.
	Beds []v1alpha1.TestBed
	// Problems are the reasons why the benchmark cannot run anywhere.
	Problems field.ErrorList
}

// check checks one thing.
type check func(in Input, a *Answer) field.ErrorList

// Every group is a chain that ends with the first check that finds problems: later
// checks would only repeat them. The groups are judged separately, so that one
// answer has all problems.
var (
	references = [][]check{{profileExists}, {classExists, selectorIsSound, bedExists, bedIsAllowed}}
	together   = []check{rowsFit, testsFit}
)

// Benchmark judges a benchmark.
func Benchmark(in Input) Answer {
	var a Answer
	for _, chain := range references {
		a.Problems = append(a.Problems, first(chain, in, &a)...)
	}
	if in.NoBedFits {
		a.Beds = a.Beds[:min(len(a.Beds), 1)]
	}
	if len(a.Problems) == 0 {
		a.Problems = first(together, in, &a)
	}
	if len(a.Problems) > 0 {
		a.Beds = nil
	}
	return a
}

// Admits reports whether the priority class of a benchmark exists and it may have one of the beds. It costs less than Benchmark,
// which judges the profile and the tests as well.
func Admits(in Input) bool {
	if len(classExists(in, nil)) > 0 || len(selectorIsSound(in, nil)) > 0 {
		return false
	}
	wish, request := in.wish(), in.request()
	for i := range in.Beds {
		bed := &in.Beds[i]
		if !wish.Wants(bed) || !Allows(bed, in.Namespace) {
			continue
		}
		if _, granted := Grant(bed, in.Namespace, request); granted {
			return true
		}
	}
	return false
}

func first(chain []check, in Input, a *Answer) field.ErrorList {
	for _, c := range chain {
		if problems := c(in, a); len(problems) > 0 {
			return problems
		}
	}
	return nil
}

func profileExists(in Input, a *Answer) field.ErrorList {
	name := in.Benchmark.Spec.TrafficProfileName
	i := slices.IndexFunc(in.Profiles, func(p v1alpha1.TrafficProfile) bool { return p.Name == name })
	if i >= 0 {
		a.Profile = in.Profiles[i].For(&in.Benchmark.Spec)
		return nil
	}
	var names []string
	for _, p := range in.Profiles {
		names = append(names, p.Name)
	}
	return problem(field.NewPath("spec", "trafficProfileName"), name, fmt.Sprintf(
		"namespace %s has no TrafficProfile of this name (%s)%s: apply the profile first, or name another",
		in.Namespace.Name, has(names), meant(name, names)))
}

func classExists(in Input, _ *Answer) field.ErrorList {
	return team.Problems(in.LabPolicy, in.Benchmark)
}

func selectorIsSound(in Input, _ *Answer) field.ErrorList {
	if in.Wish != nil {
		return nil
	}
	return selection.Problems(field.NewPath("spec", "testBedSelector"), in.Benchmark.Spec.TestBedSelector)
}

func bedExists(in Input, _ *Answer) field.ErrorList {
	wish := in.wish()
	for i := range in.Beds {
		if wish.Wants(&in.Beds[i]) {
			return nil
		}
	}
	names := allowedNames(in)
	allowed := has(names)
	if name := in.Benchmark.Spec.TestBedName; name != "" {
		return problem(field.NewPath("spec", "testBedName"), name, fmt.Sprintf(
			"there is no TestBed of this name (namespace %s may use: %s)%s: name one of those, or ask the lab for the bed",
			in.Namespace.Name, allowed, meant(name, names)))
	}
	if r := in.Benchmark.Spec.TestBedRequirements; r != nil {
		return problem(field.NewPath("spec", "testBedRequirements"), requirements.Format(r), fmt.Sprintf(
			"no TestBed has all of this (%s; namespace %s may use: %s): ask for less, or ask the lab for such a bed",
			requirements.Closest(in.Beds, r), in.Namespace.Name, allowed))
	}
	return problem(field.NewPath("spec", "testBedSelector"), selection.Format(in.Benchmark.Spec.TestBedSelector), fmt.Sprintf(
		"no TestBed has these labels (namespace %s may use: %s): see kubectl get testbeds --show-labels",
		in.Namespace.Name, allowed))
}

// bedIsAllowed keeps the beds that the benchmark wants and has a grant for. When there
// is none, it says what is missing, on the bed where that is least.
func bedIsAllowed(in Input, a *Answer) field.ErrorList {
	var problems field.ErrorList
	wish := in.wish()
	for i := range in.Beds {
		bed := &in.Beds[i]
		if !wish.Wants(bed) || !Allows(bed, in.Namespace) {
			continue
		}
		if _, granted := Grant(bed, in.Namespace, in.request()); granted {
			a.Beds = append(a.Beds, *bed)
		} else if missing := beyondAll(bed, in.Namespace, in.request()); problems == nil || len(missing) < len(problems) {
			problems = missing
		}
	}
	if len(a.Beds) > 0 {
		return nil
	}
	if problems != nil {
		return problems
	}
	path, value := field.NewPath("spec", "testBedName"), in.Benchmark.Spec.TestBedName
	what := "this TestBed does not allow"
	switch r := in.Benchmark.Spec.TestBedRequirements; {
	case r != nil:
		path, value, what = field.NewPath("spec", "testBedRequirements"), requirements.Format(r), "no TestBed that has all of this allows"
	case value == "":
		path = field.NewPath("spec", "testBedSelector")
		value = selection.Format(in.Benchmark.Spec.TestBedSelector)
		what = "no TestBed with these labels allows"
	}
	return problem(path, value, fmt.Sprintf(
		"%s namespace %s (it may use: %s): use one of those, or ask the bed's owner to add this to spec.access: %s",
		what, in.Namespace.Name, has(allowedNames(in)), neededGrant(&v1alpha1.TestBed{}, in.Namespace, in.request())))
}

// testsFit keeps the beds on which the plan can be made, and whose policy allows the
// frames that it sends. Only when there is none are the problems of the first bed
// reported.
func testsFit(in Input, a *Answer) field.ErrorList {
	var fitting []v1alpha1.TestBed
	var problemsOfFirst field.ErrorList
	for i := range a.Beds {
		problems := portGroupProblems(in, &a.Beds[i])
		if len(problems) == 0 {
			problems = Fit(in.Benchmark, a.Profile, &a.Beds[i], in.DefaultPolicy, in.Models)
		}
		if len(problems) == 0 {
			fitting = append(fitting, a.Beds[i])
		} else if problemsOfFirst == nil {
			problemsOfFirst = problems
		}
	}
	if a.Beds = fitting; len(fitting) > 0 {
		return nil
	}
	return problemsOfFirst
}

// Fit returns the reasons why a benchmark cannot run with a profile on a bed: no plan can be
// made, the model of the device lacks some of its frames, or the policy in force there does
// not allow some of them. DefaultPolicy and models may be nil.
func Fit(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, defaultPolicy *v1alpha1.TrafficPolicy, models Models) field.ErrorList {
	if b.Spec.Capture != nil {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "capture"),
			"captured frames are files on the machine that measures, and do not leave a cluster yet: leave capture out here, and measure with nodrop run, which writes them next to its --output-file")}
	}
	profile = profile.For(&b.Spec)
	if path := dumpIn(profile); path != nil {
		return field.ErrorList{field.Forbidden(path,
			"a dump is a file on the machine that measures, larger than what a ConfigMap holds: announce a range of routes here, and measure with nodrop run, which reads the file")}
	}
	if problems := plan.Validate(b, profile, bed); len(problems) > 0 {
		return problems
	}
	if problems := modelHasHosts(b, bed); len(problems) > 0 {
		return problems
	}
	if problems := ModelFits(b, profile, bed, models); len(problems) > 0 {
		return problems
	}
	if problems := gate.Validate(b, profile); len(problems) > 0 {
		return problems
	}
	for i, t := range b.Spec.Tests {
		if t.BGPRestart != nil && !device.Of(bed.Spec.Device).RestartsBGP {
			return field.ErrorList{field.Forbidden(field.NewPath("spec", "tests").Index(i).Child("bgpRestart"), fmt.Sprintf(
				"in a cluster NoDrop restarts the BGP of simulated devices only, and that of test bed %s is not one: leave the test out here, and measure with nodrop run, which restarts the router that it starts", bed.Name))}
		}
	}
	if problems := hostsFit(b, bed); len(problems) > 0 {
		return problems
	}
	return policy.Check(b, profile, bed, defaultPolicy)
}

func allowedNames(in Input) []string {
	var names []string
	for i := range in.Beds {
		if Allows(&in.Beds[i], in.Namespace) {
			names = append(names, in.Beds[i].Name)
		}
	}
	return names
}

func problem(path *field.Path, value any, detail string) field.ErrorList {
	return field.ErrorList{field.Invalid(path, value, detail)}
}

// maxListed bounds lists of names in messages.
const maxListed = 8

func has(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

// meant asks for a name that differs in a few letters; it is empty when none does.
func meant(name string, names []string) string {
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// dumpIn returns the path of the first routes of a profile from a dump; nil if it has none.
func dumpIn(profile *v1alpha1.TrafficProfile) *field.Path {
	if profile.Spec.Routing == nil {
		return nil
	}
	i := slices.IndexFunc(profile.Spec.Routing.Routes, func(r v1alpha1.RouteSet) bool { return r.MRT != nil })
	if i < 0 {
		return nil
	}
	return field.NewPath("TrafficProfile/"+profile.Name).Child("spec", "routing", "routes").Index(i).Child("mrt")
}
