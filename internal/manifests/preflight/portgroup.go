package preflight

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// portGroupProblems returns the problems of tests that need the whole device on a bed that
// is a port group of it. They name the bed with the whole device, if there is one.
func portGroupProblems(in Input, bed *v1alpha1.TestBed) field.ErrorList {
	if bed.Spec.PortGroup == nil {
		return nil
	}
	var open, closed []string
	for i := range in.Beds {
		whole := &in.Beds[i]
		switch {
		case !hasAllOf(whole, bed):
		case Allows(whole, in.Namespace):
			open = append(open, whole.Name)
		default:
			closed = append(closed, whole.Name)
		}
	}
	instead := ""
	switch {
	case len(open) > 0:
		instead = "run it on the bed with the whole device, " + has(open)
	case len(closed) > 0:
		instead = "ask the lab for a grant on the bed with the whole device, " + has(closed) + ", or leave the test out"
	default:
		instead = "ask the lab for a TestBed with all ports of the device, or leave the test out"
	}
	return plan.PortGroup(in.Benchmark, bed, instead)
}

// hasAllOf reports whether a bed is no port group, and has a device and all interfaces of a group.
func hasAllOf(whole, group *v1alpha1.TestBed) bool {
	if whole.Spec.PortGroup != nil || whole.Spec.Device.Physical == nil {
		return false
	}
	has := calibration.Interfaces(whole)
	return !slices.ContainsFunc(calibration.Interfaces(group), func(i string) bool { return !slices.Contains(has, i) })
}
