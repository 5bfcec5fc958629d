package method

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// byHand is the remedy for a reset that the lab cannot perform.
const byHand = "set trigger to External, and reset it when the progress says so"

// resetOffered reports why the lab cannot perform a reset of the device of a bed; nil if it can.
func resetOffered(test *v1alpha1.ResetTest, bed *v1alpha1.TestBed, path *field.Path) *field.Error {
	d := bed.Spec.Device
	described, switches := d.Resets(), d.Power().Switches()
	kind, name := path.Child("kind"), path.Child("name")
	switch {
	case !device.Of(d).Resets:
		return field.Invalid(path.Child("trigger"), test.Trigger, fmt.Sprintf(
			"NoDrop cannot reset the device of test bed %s, only a simulated one, or a physical one whose power outlets have a switch, or whose management.ssh has resets: %s", bed.Name, byHand))
	case len(described) == 0 && switches && test.Kind != v1alpha1.ResetPower:
		return field.Invalid(kind, test.Kind, fmt.Sprintf("NoDrop resets the device of test bed %s by its power: set kind to Power, or %s", bed.Name, byHand))
	case len(described) == 0 && test.Name != "":
		return field.Invalid(name, test.Name, fmt.Sprintf("test bed %s describes no resets: leave name out", bed.Name))
	case len(described) == 0, test.Kind == v1alpha1.ResetPower && switches:
		return nil
	case test.Kind == v1alpha1.ResetPower:
		return field.Invalid(kind, test.Kind, fmt.Sprintf("the power outlets of test bed %s have no switch, and it describes the resets %s: choose one of these by kind and name, or %s",
			bed.Name, listResets(described), byHand))
	}
	_, problem := nameOfReset(test, described)
	if problem == "" {
		return nil
	}
	problem = fmt.Sprintf("%s: choose one of these by kind and name, or %s", problem, byHand)
	if test.Name == "" {
		return field.Invalid(kind, test.Kind, problem)
	}
	return field.Invalid(name, test.Name, problem)
}

// nameOfReset returns the name of the described reset that a test chooses, or the reason why there is none.
func nameOfReset(test *v1alpha1.ResetTest, described []v1alpha1.DeviceReset) (name, problem string) {
	var found []string
	for _, r := range described {
		if r.Kind == test.Kind && (test.Name == "" || test.Name == r.Name) {
			found = append(found, r.Name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], ""
	case len(found) > 1:
		return "", fmt.Sprintf("name is missing, and the bed describes %d resets of the kind %s: %s", len(found), test.Kind, listResets(described))
	case slices.ContainsFunc(described, func(r v1alpha1.DeviceReset) bool { return r.Name == test.Name }):
		return "", fmt.Sprintf("the bed describes no such reset of the kind %s, but %s", test.Kind, listResets(described))
	}
	return "", "the bed describes the resets " + listResets(described)
}

// listResets lists resets for a message: reload (Software), portFlap (Hardware).
func listResets(described []v1alpha1.DeviceReset) string {
	var all []string
	for _, r := range described {
		all = append(all, fmt.Sprintf("%s (%s)", r.Name, r.Kind))
	}
	return strings.Join(all, ", ")
}
