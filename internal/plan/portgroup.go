package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// PortGroup refuses tests that act on the whole device, or measure what it has once, on a bed
// that is a port group of it: benchmarks on other groups run at the same time. Instead is what
// to do about it; empty is to leave the test out.
func PortGroup(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed, instead string) field.ErrorList {
	if bed.Spec.PortGroup == nil {
		return nil
	}
	if instead == "" {
		instead = "leave the test out, or run it on a bed with all ports of the device"
	}
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok && m.WholeDevice != "" {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "tests").Index(i).Child(m.Member), fmt.Sprintf(
				"test %s %s, and TestBed %s is a port group of device %s, whose other ports are in use at the same time: %s",
				test.Name, m.WholeDevice, bed.Name, bed.Spec.PortGroup.Device, instead)))
		}
	}
	return errs
}
