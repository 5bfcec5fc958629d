package method

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// allEntries is the range of a device whose bed describes no list.
var allEntries = v1alpha1.ScaleRange{Minimum: 1, Maximum: v1alpha1.MaxScaleEntries}

// fitsConfigurationScale reports why a device does not get lists as a test asks for them.
func fitsConfigurationScale(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	t, described := test.ConfigurationScale, in.Bed.Spec.Device.Scales()
	if !device.Of(in.Bed.Spec.Device).Scales {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"NoDrop cannot give the device of test bed %s lists: its owner has to describe them in device.physical.management.ssh.scales; a simulated device needs no description", in.Bed.Name))}
	}
	within, problem := scaleNamed(t.Name, described)
	if problem != "" {
		return field.ErrorList{field.Invalid(path.Child("name"), t.Name, problem)}
	}
	var errs field.ErrorList
	counts := countsOf(t, within, 0)
	allowed := fmt.Sprintf("test bed %s allows %d to %d entries", in.Bed.Name, within.Minimum, within.Maximum)
	if counts.Min < within.Minimum || counts.Min > within.Maximum {
		errs = append(errs, field.Invalid(path.Child("minimum"), t.Minimum, allowed+": give such a number, or leave minimum out"))
	}
	if counts.Max > within.Maximum || counts.Max < within.Minimum {
		errs = append(errs, field.Invalid(path.Child("maximum"), t.Maximum, allowed+": give such a number, or leave maximum out"))
	}
	if len(errs) == 0 && counts.Min > counts.Max {
		errs = append(errs, field.Invalid(path.Child("maximum"), t.Maximum, fmt.Sprintf("it is below the minimum %d: raise maximum, or lower minimum", counts.Min)))
	}
	return errs
}

// scaleNamed returns the range of a described list, or the reason why a test cannot choose it. Without a name it is the only list.
func scaleNamed(name string, described []v1alpha1.DeviceScale) (within v1alpha1.ScaleRange, problem string) {
	var names []string
	for _, d := range described {
		if d.Name == name || name == "" && len(described) == 1 {
			return d.Range, ""
		}
		names = append(names, d.Name)
	}
	switch {
	case len(described) == 0 && name == "":
		return allEntries, ""
	case len(described) == 0:
		return within, "the bed describes no lists: leave name out"
	case name == "":
		return within, fmt.Sprintf("name is missing, and the bed describes the lists %s: choose one of these", strings.Join(names, ", "))
	}
	return within, fmt.Sprintf("the bed describes the lists %s: choose one of these", strings.Join(names, ", "))
}
