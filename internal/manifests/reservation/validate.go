package reservation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/base/selection"
)

// Validate returns the problems of a reservation itself that its schema does not detect.
func Validate(r *v1alpha1.Reservation) field.ErrorList {
	if problems := selection.Problems(field.NewPath("spec", "testBedSelector"), r.Spec.TestBedSelector); len(problems) > 0 {
		return problems
	}
	recurrence := r.Spec.Recurrence
	if recurrence == nil {
		return nil
	}
	path := field.NewPath("spec", "recurrence")
	if _, err := zoneOf(recurrence); err != nil {
		return field.ErrorList{field.Invalid(path.Child("timeZone"), recurrence.TimeZone, err.Error())}
	}
	rule, err := ruleOf(&r.Spec)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("rule"), recurrence.Rule, err.Error())}
	}
	next := rule.Iterator()
	first, found := next()
	switch {
	case !found:
		return field.ErrorList{field.Invalid(path.Child("rule"), recurrence.Rule, "no day fits this rule: see RFC 5545 section 3.3.10")}
	case !first.Equal(First(&r.Spec).From):
		return field.ErrorList{field.Invalid(field.NewPath("spec", "from"), r.Spec.From.Format(time.RFC3339), fmt.Sprintf(
			"the first time of the rule %s from then on is %s: give that as from", recurrence.Rule, first.Format(time.RFC3339)))}
	}
	// Rules repeat within a few years; this many occurrences show the closest two.
	const enough = 400
	length := Length(&r.Spec)
	for range enough {
		second, more := next()
		if !more {
			break
		}
		if second.Before(first.Add(length)) {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "until"), r.Spec.Until.Format(time.RFC3339), fmt.Sprintf(
				"an occurrence takes %s, and after the one at %s the next begins at %s: give an earlier until, or a rule that repeats less often",
				length, first.Format(time.RFC3339), second.Format(time.RFC3339)))}
		}
		first = second
	}
	return nil
}

// Margin is the time by which a benchmark has to be shorter than the reservation that it
// names: it is needed for the begin of the run and the clean-up.
const Margin = 5 * time.Minute

// Benchmark returns the reasons why a benchmark can never run in the reservation that it
// names.
func Benchmark(b *v1alpha1.Benchmark, r *v1alpha1.Reservation) field.ErrorList {
	var problems field.ErrorList
	length := Length(&r.Spec)
	if longest := length - Margin; time.Duration(b.Spec.ActiveDeadlineSeconds)*time.Second > longest {
		advice := fmt.Sprintf("give at most %d, or make the reservation longer", int64(longest/time.Second))
		if longest < 10*time.Second {
			advice = "make the reservation longer"
		}
		problems = append(problems, field.Invalid(field.NewPath("spec", "activeDeadlineSeconds"), b.Spec.ActiveDeadlineSeconds, fmt.Sprintf(
			"reservation %s takes %s, of which %s are for the begin and the clean-up: %s", r.Name, human.Duration(length), human.Duration(Margin), advice)))
	}
	if name := b.Spec.TestBedName; name != "" && r.Spec.TestBedSelector == nil && !slices.Contains(r.Spec.TestBedNames, name) {
		problems = append(problems, field.Invalid(field.NewPath("spec", "testBedName"), name, fmt.Sprintf(
			"reservation %s has the beds %s: name one of those, or another reservation", r.Name, strings.Join(r.Spec.TestBedNames, ", "))))
	}
	return problems
}
