package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// perVariant repeats the steps for every variant, one variant after the other:
// between two the device is prepared anew.
func perVariant(steps []Step, variants []v1alpha1.VariantName) []Step {
	if len(variants) == 0 {
		return steps
	}
	var all []Step
	for _, v := range variants {
		for _, s := range steps {
			s.Variant = v
			all = append(all, s)
		}
	}
	return all
}

// TestName names the step's test for a person, with the variant of the device
// where there is one: "throughput", "throughput (fec-on)".
func (s Step) TestName() string { return s.ID().TestName() }

// validateVariants refuses variants that the bed's device does not have, and
// those that the schema refuses, for objects that no API server has seen.
func validateVariants(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) field.ErrorList {
	var errs field.ErrorList
	root := field.NewPath("spec", "variants")
	for i, name := range b.Spec.Variants {
		path := root.Index(i)
		if slices.Contains(b.Spec.Variants[:i], name) {
			errs = append(errs, field.Duplicate(path, name))
			continue
		}
		if _, found := bed.Spec.Device.As(name); name != "" && found {
			continue
		}
		has := "has no variants"
		if names := variantNames(bed); len(names) > 0 {
			has = "has " + strings.Join(names, ", ")
		}
		errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
			"the device of test bed %s %s: name one of the bed's, or ask its owner to add it to spec.device.variants", bed.Name, has)))
	}
	return errs
}

func variantNames(bed *v1alpha1.TestBed) []string {
	var names []string
	for _, v := range bed.Spec.Device.Variants {
		names = append(names, string(v.Name))
	}
	return names
}
