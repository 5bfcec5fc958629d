// Package parameters fills values into the configurations of devices. The owner of a device writes {{name}} into a
// configuration and bounds the values; a benchmark chooses one of them.
package parameters

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// ValidateBed returns the problems of a bed's parameters for themselves.
func ValidateBed(bed *v1alpha1.TestBed) field.ErrorList {
	var problems field.ErrorList
	for i := range bed.Spec.Device.Variants {
		all, member := bed.Spec.Device.Variants[i].Parameters()
		for j := range all {
			p := &all[j]
			if !p.Allow(p.Default) {
				path := field.NewPath("spec", "device", "variants").Index(i).Child(member, "parameters").Index(j).Child("default")
				problems = append(problems, field.Invalid(path, p.Default, fmt.Sprintf("give %s, or allow this value", &p.ParameterBounds)))
			}
		}
	}
	return problems
}

// Validate returns the problems of the values that a benchmark chooses on a bed.
func Validate(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) field.ErrorList {
	var problems field.ErrorList
	root := field.NewPath("spec", "deviceParameters")
	for i, chosen := range b.Spec.DeviceParameters {
		found := false
		for _, variant := range b.Spec.Variants {
			for _, p := range bed.Spec.Device.ParametersOf(variant) {
				if p.Name != chosen.Name {
					continue
				}
				found = true
				if !p.Allow(chosen.Value) {
					problems = append(problems, field.Invalid(root.Index(i).Child("value"), chosen.Value, fmt.Sprintf(
						"parameter %s of variant %s of test bed %s is %s: give such a value, or ask the bed's owner to allow this one", p.Name, variant, bed.Name, &p.ParameterBounds)))
				}
			}
		}
		if !found {
			problems = append(problems, field.Invalid(root.Index(i).Child("name"), chosen.Name, fmt.Sprintf(
				"%s: leave it out, or name a variant that has it", has(b, bed))))
		}
	}
	return problems
}

// has describes the parameters that a benchmark may choose on a bed.
func has(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) string {
	var names []string
	for _, variant := range b.Spec.Variants {
		for _, p := range bed.Spec.Device.ParametersOf(variant) {
			names = append(names, fmt.Sprintf("%s (%s)", p.Name, variant))
		}
	}
	if names == nil {
		return fmt.Sprintf("the variants of the benchmark have no parameters on test bed %s", bed.Name)
	}
	return fmt.Sprintf("the variants of the benchmark have the parameters %s on test bed %s", strings.Join(names, ", "), bed.Name)
}

// Values returns what the parameters of a variant are for a benchmark, in the order of the bed.
func Values(device *v1alpha1.Device, variant v1alpha1.VariantName, chosen []v1alpha1.ChosenParameter) []v1alpha1.ChosenParameter {
	var all []v1alpha1.ChosenParameter
	for _, p := range device.ParametersOf(variant) {
		value := p.Default
		if i := slices.IndexFunc(chosen, func(c v1alpha1.ChosenParameter) bool { return c.Name == p.Name }); i >= 0 {
			value = chosen[i].Value
		}
		all = append(all, v1alpha1.ChosenParameter{Name: p.Name, Value: value})
	}
	return all
}

// placeholder finds the places of parameters.
var placeholder = regexp.MustCompile(`\{\{([^{}\n]*)\}\}`)

// Fill returns the configuration of a variant with the values of its parameters. A configuration without parameters stays
// as it is, also if it has braces. It fails for a value beyond the bounds, a place of an unknown parameter, and a parameter
// without a place, which would be measured as if it had an effect.
func Fill(text string, device *v1alpha1.Device, variant v1alpha1.VariantName, chosen []v1alpha1.ChosenParameter) (string, error) {
	declared := device.ParametersOf(variant)
	if len(declared) == 0 {
		return text, nil
	}
	values, used := map[string]string{}, map[string]bool{}
	for i, v := range Values(device, variant, chosen) {
		if bounds := &declared[i].ParameterBounds; !bounds.Allow(v.Value) {
			return "", fmt.Errorf("parameter %s is %q, and variant %s allows %s", v.Name, v.Value, variant, bounds)
		}
		values[string(v.Name)] = string(v.Value)
	}
	var unknown []string
	filled := placeholder.ReplaceAllStringFunc(text, func(place string) string {
		name := strings.TrimSpace(place[2 : len(place)-2])
		value, known := values[name]
		if !known {
			unknown = append(unknown, place)
		}
		used[name] = true
		return value
	})
	if unknown != nil {
		return "", fmt.Errorf("the configuration of variant %s has %s, and the variant has no such parameter: add it to parameters, or correct the name", variant, unknown[0])
	}
	for _, p := range declared {
		if !used[string(p.Name)] {
			return "", fmt.Errorf("the configuration of variant %s has no {{%s}}: write it where the value belongs, or remove the parameter", variant, p.Name)
		}
	}
	if strings.Contains(filled, "{{") {
		return "", errors.New("the configuration of variant " + string(variant) + " has {{ without a name and }}: with parameters, double braces are for their places only")
	}
	return filled, nil
}

// Describe lists values for people: " with entries 201, vlan 12"; empty for none.
func Describe(values []v1alpha1.ChosenParameter) string {
	if len(values) == 0 {
		return ""
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v.Name) + " " + string(v.Value)
	}
	return " with " + strings.Join(all, ", ")
}
