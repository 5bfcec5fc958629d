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

// validateImage refuses an image that the device cannot have, or that the bed does not allow.
func validateImage(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) field.ErrorList {
	image := b.Spec.DeviceImage
	if image == "" {
		return nil
	}
	root := field.NewPath("spec", "deviceImage")
	lab := bed.Spec.Device.Containerlab
	if lab == nil {
		return field.ErrorList{field.Invalid(root, image, fmt.Sprintf(
			"the device of test bed %s is not of containerlab, and has no image: leave deviceImage out, or name another bed", bed.Name))}
	}
	if !lab.Allows(image) {
		allowed := "no images"
		if len(lab.AllowedImages) > 0 {
			allowed = "only " + strings.Join(lab.AllowedImages, ", ")
		}
		return field.ErrorList{field.Invalid(root, image, fmt.Sprintf(
			"test bed %s allows %s: give an allowed one, or ask its owner to add it to spec.device.containerlab.allowedImages", bed.Name, allowed))}
	}
	for _, v := range bed.Spec.Device.Variants {
		if v.Containerlab != nil && v.Containerlab.Image != "" && slices.Contains(b.Spec.Variants, v.Name) {
			return field.ErrorList{field.Invalid(root, image, fmt.Sprintf(
				"variant %s of test bed %s has the image %s: leave deviceImage out, or the variant", v.Name, bed.Name, v.Containerlab.Image))}
		}
	}
	return nil
}

func variantNames(bed *v1alpha1.TestBed) []string {
	var names []string
	for _, v := range bed.Spec.Device.Variants {
		names = append(names, string(v.Name))
	}
	return names
}
