package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
)

// maxDeadline is the greatest spec.activeDeadlineSeconds of the schema.
const maxDeadline = 30 * 24 * time.Hour

// Repeated returns the step with n trials in place of one.
func (s Step) Repeated(n int) Step {
	s.Trials, s.Certain = n, s.Certain*time.Duration(n)
	return s
}

// Sure returns the step with trials that are run whatever is measured.
func (s Step) Sure(trials int) Step {
	s.Certain = time.Duration(trials) * s.TrialDuration
	return s
}

// certain returns the time for which a test sends frames whatever is measured: at all
// sizes of the profile and in all variants. It is a lower bound of the time that the test
// takes; settling, rest and further trials come on top of it.
func certain(test v1alpha1.Test, sizes, variants int) time.Duration {
	m, ok := methodOf(test)
	if !ok {
		return 0
	}
	if m.Frameless {
		sizes = 1
	}
	var d time.Duration
	for _, s := range (Plan{}).steps(test, []Size{Bytes(64)}) {
		d += s.Certain
	}
	return d * time.Duration(sizes*variants)
}

// validateDeadline refuses a deadline before which the tests cannot be over. A modelled
// device is measured in simulated time, which no deadline bounds.
func validateDeadline(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) field.ErrorList {
	limit := time.Duration(b.Spec.ActiveDeadlineSeconds) * time.Second
	if limit == 0 || bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return nil
	}
	type part struct {
		name string
		d    time.Duration
	}
	var parts []part
	var all time.Duration
	for _, t := range b.Spec.Tests {
		d := certain(t, len(sizes(profile)), len(b.Spec.VariantsInOrder()))
		parts, all = append(parts, part{t.Name, d}), all+d
	}
	if all <= limit {
		return nil
	}
	slices.SortStableFunc(parts, func(x, y part) int { return cmp.Compare(y.d, x.d) })
	var longest []string
	for _, p := range parts[:min(3, len(parts))] {
		longest = append(longest, p.name+" "+human.Duration(p.d))
	}
	remedy := fmt.Sprintf("give more than %d, up to %d, or ask for fewer or shorter trials", (all+time.Second-1)/time.Second, maxDeadline/time.Second)
	if all >= maxDeadline {
		remedy = fmt.Sprintf("at most %d is allowed: ask for fewer or shorter trials, or divide tests, sizes or variants among several benchmarks", maxDeadline/time.Second)
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "activeDeadlineSeconds"), b.Spec.ActiveDeadlineSeconds, fmt.Sprintf(
		"the tests send frames for at least %s (%s), and the benchmark would end before: %s", human.Duration(all), strings.Join(longest, ", "), remedy))}
}

// ValidateSizes reports the sizes of frames that covers refuses, of the profile and next to
// hosts, such as ones that the model of a device lacks. What covers returns follows the value. The profile is valid for
// itself.
func ValidateSizes(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, covers func(size int) error) field.ErrorList {
	profile = profile.For(&b.Spec)
	var errs field.ErrorList
	refuse := func(path *field.Path, value any, sizes []int) {
		for _, size := range sizes {
			if err := covers(size); err != nil {
				known := field.Invalid(path, value, err.Error())
				if !slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Error() == known.Error() }) {
					errs = append(errs, known)
				}
				return
			}
		}
	}
	for _, s := range Sections(profile) {
		for i, size := range s.Spec.Sizes() {
			refuse(s.sizePath(i), size, []int{int(size)})
		}
		for i, m := range mixes(s.TrafficProfile) {
			all := Size{Mix: &m}.All()
			refuse(s.mixPath(i), s.Spec.FrameMixes[i].Name, all)
		}
	}
	errs = inBenchmark(b, profile, errs)
	for i, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok && m.SendsNextToHosts(test) {
			size, at := m.NextToHosts(test)
			refuse(field.NewPath("spec", "tests").Index(i).Child(m.Member, at...), size, []int{int(size)})
		}
	}
	return errs
}

// inBenchmark moves errors in the sizes of a profile to the benchmark that gives them.
func inBenchmark(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, errs field.ErrorList) field.ErrorList {
	if len(b.Spec.FrameSizes) == 0 {
		return errs
	}
	of := profilePath(profile).Child("frameSizes").String()
	for _, err := range errs {
		if index, found := strings.CutPrefix(err.Field, of); found {
			err.Field = "spec.frameSizes" + index
		}
	}
	return errs
}
