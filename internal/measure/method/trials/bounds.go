package trials

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// UpsideDown refuses a search whose lowest load is above its highest at a size.
func UpsideDown(lowest, highest v1alpha1.LoadAmount, at plan.Scale, path *field.Path) field.ErrorList {
	if at.PPM(lowest) <= at.PPM(highest) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("minLoad"), lowest,
		fmt.Sprintf("minLoad %s is above maxLoad %s: lower minLoad or raise maxLoad", at.InWords(lowest), at.InWords(highest)))}
}

// ValidStep refuses a step of falling loads that is outside of what is allowed, in parts
// per million of line rate.
func ValidStep(step v1alpha1.LoadAmount, least, most int64, why string, at plan.Scale, path *field.Path) field.ErrorList {
	if ppm := at.PPM(step); ppm >= least && ppm <= most {
		return nil
	}
	is := ""
	if step.IsRate() {
		is = "the step is " + at.InWords(step) + ": "
	}
	return field.ErrorList{field.Invalid(path.Child("step"), step, fmt.Sprintf("%sgive %s to %s of line rate%s", is, Percent(least), Percent(most), why))}
}

// OfLineRate is a load for the report.
func OfLineRate(load v1alpha1.LoadAmount) string {
	if load.IsRate() {
		return string(load) + " of each port"
	}
	return string(load) + " of line rate"
}

// FromTo is a range of loads for the report.
func FromTo(lowest, highest v1alpha1.LoadAmount) string {
	if lowest.IsRate() || highest.IsRate() {
		return fmt.Sprintf("between %s and %s", OfLineRate(lowest), OfLineRate(highest))
	}
	return fmt.Sprintf("between %s and %s of line rate", lowest, highest)
}
