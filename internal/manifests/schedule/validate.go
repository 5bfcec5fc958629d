package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
)

var (
	ofSpec     = field.NewPath("spec")
	ofTemplate = ofSpec.Child("benchmarkTemplate")
	ofMatrix   = ofSpec.Child("matrix")
)

// Validate returns the problems of a schedule itself, not of the benchmarks that it
// makes.
func Validate(s *v1alpha1.BenchmarkSchedule) field.ErrorList {
	problems := append(ValidateName(s.Name), ValidateTiming(&s.Spec)...)
	return append(problems, ValidateTemplate(&s.Spec)...)
}

// maxName is the longest name of a schedule, as of a CronJob.
const maxName = 52

// ValidateName checks the length of a schedule's name. The names of its benchmarks also
// contain the time of the firing, and labels have at most 63 characters.
func ValidateName(name string) field.ErrorList {
	if len(name) <= maxName {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, fmt.Sprintf(
		"it has %d characters: give at most %d, as the time of the firing is added for the names of benchmarks", len(name), maxName))}
}

// ValidateTiming returns the problems of the times of a schedule.
func ValidateTiming(spec *v1alpha1.BenchmarkScheduleSpec) field.ErrorList {
	zone, err := Zone(spec.TimeZone)
	if err != nil {
		return field.ErrorList{field.Invalid(ofSpec.Child("timeZone"), spec.TimeZone, err.Error())}
	}
	times, err := Parse(spec.Schedule, zone)
	if err != nil {
		return field.ErrorList{field.Invalid(ofSpec.Child("schedule"), spec.Schedule, err.Error())}
	}
	if spec.Jitter == nil {
		return nil
	}
	if shortest := times.Shortest(reference); shortest > 0 && spec.Jitter.Duration > shortest {
		return field.ErrorList{field.Invalid(ofSpec.Child("jitter"), human.Duration(spec.Jitter.Duration), fmt.Sprintf(
			"firings are %s apart at times: give at most that, so that they keep their order", human.Duration(shortest)))}
	}
	return nil
}

// ValidateTemplate returns the problems of the template's metadata, and of the names that the
// matrix makes.
func ValidateTemplate(spec *v1alpha1.BenchmarkScheduleSpec) field.ErrorList {
	metadata := spec.BenchmarkTemplate.Metadata
	at := ofTemplate.Child("metadata")
	problems := metav1validation.ValidateLabels(metadata.Labels, at.Child("labels"))
	problems = append(problems, apivalidation.ValidateAnnotations(metadata.Annotations, at.Child("annotations"))...)
	for member, pairs := range map[string]map[string]string{"labels": metadata.Labels, "annotations": metadata.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			if strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") {
				problems = append(problems, field.Invalid(at.Child(member).Key(key), pairs[key], "NoDrop sets these itself: give a key with another prefix, or without one"))
			}
		}
	}
	problems = append(problems, validateTestNames(spec)...)
	seen := map[string]Cell{}
	for _, c := range Cells(spec) {
		if before, taken := seen[c.Name]; taken {
			problems = append(problems, field.Invalid(ofMatrix, c.Name, fmt.Sprintf(
				"%s and %s would have the same name: rename a bed, a profile or a variant, give an image another tag, or make two schedules", before.describe(spec), c.describe(spec))))
			break
		}
		seen[c.Name] = c
	}
	if gang := spec.BenchmarkTemplate.Spec.Gang; gang != nil && len(seen) > 1 {
		problems = append(problems, field.Invalid(ofTemplate.Child("spec", "gang", "role"), gang.Role, fmt.Sprintf(
			"the matrix makes %d benchmarks at once, and a role is that of one: leave gang or matrix out, or make a schedule for each role", len(seen))))
	}
	return problems
}

// validateTestNames refuses names that are not of tests of the template.
func validateTestNames(spec *v1alpha1.BenchmarkScheduleSpec) field.ErrorList {
	if spec.Matrix == nil {
		return nil
	}
	var has []string
	for _, t := range spec.BenchmarkTemplate.Spec.Tests {
		has = append(has, t.Name)
	}
	var problems field.ErrorList
	for i, name := range spec.Matrix.TestNames {
		if !slices.Contains(has, name) {
			problems = append(problems, field.Invalid(ofMatrix.Child("testNames").Index(i), name, fmt.Sprintf(
				"the template has no test of this name, only %s: name one of those, or add the test to the template", strings.Join(has, ", "))))
		}
	}
	return problems
}

// describe names the values of a cell.
func (c Cell) describe(spec *v1alpha1.BenchmarkScheduleSpec) string {
	var values []string
	for k, i := range c.at {
		if i >= 0 {
			values = append(values, axes[k].what+" "+axes[k].text(spec.Matrix, i))
		}
	}
	return strings.Join(values, " with ")
}

// Blame turns the problem of a cell's benchmark into one of the schedule: its field is that
// of the template, or that of the matrix where the value is from there. Fields of other
// objects stay.
func (c Cell) Blame(problem *field.Error) *field.Error {
	out := *problem
	for k, i := range c.at {
		if i >= 0 && axes[k].field != "" && problem.Field == axes[k].field {
			out.Field = ofMatrix.Child(axes[k].list).Index(i).String()
			return &out
		}
	}
	if problem.Field == "spec" || strings.HasPrefix(problem.Field, "spec.") {
		out.Field = ofTemplate.String() + "." + c.inTemplate(problem.Field)
	}
	return &out
}

// inTemplate is the path in the template of a field of the cell's benchmark.
func (c Cell) inTemplate(path string) string {
	for list, of := range map[string][]int{"spec.tests[": c.tests, "spec.gates[": c.gates} {
		index, rest, _ := strings.Cut(strings.TrimPrefix(path, list), "]")
		if i, err := strconv.Atoi(index); err == nil && strings.HasPrefix(path, list) && i < len(of) {
			return list + strconv.Itoa(of[i]) + "]" + rest
		}
	}
	return path
}
