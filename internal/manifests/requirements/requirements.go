// Package requirements compares beds with what a benchmark says a bed must have. It is pure.
package requirements

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// Lacks returns the requirements that a bed does not meet; empty if it meets all.
func Lacks(bed *v1alpha1.TestBed, r *v1alpha1.TestBedRequirements) []string {
	var lacks []string
	if has := bed.Spec.Engine.Kind; len(r.Engines) > 0 && !slices.Contains(r.Engines, has) {
		lacks = append(lacks, fmt.Sprintf("its engine is %s", has))
	}
	kind := device.Of(bed.Spec.Device)
	if len(r.Devices) > 0 && !slices.Contains(r.Devices, v1alpha1.DeviceKind(kind.Kind)) {
		lacks = append(lacks, fmt.Sprintf("its device is %s", kind.Kind))
	}
	for _, f := range r.Features {
		if f == v1alpha1.DeviceFeatureReset && !kind.Resets || f == v1alpha1.DeviceFeatureBGPRestart && !kind.RestartsBGP {
			lacks = append(lacks, fmt.Sprintf("its device has no %s", f))
		}
	}
	return append(lacks, lacksPorts(bed, r)...)
}

func lacksPorts(bed *v1alpha1.TestBed, r *v1alpha1.TestBedRequirements) []string {
	if r.Ports == 0 && r.PortSpeed == "" {
		return nil
	}
	speeds := speedsOf(bed)
	lowest, err := r.PortSpeed.BitsPerSecond()
	if err != nil && r.PortSpeed != "" {
		return []string{err.Error()}
	}
	fast := 0
	for _, speed := range speeds {
		if has, err := speed.BitsPerSecond(); err == nil && has >= lowest {
			fast++
		}
	}
	wanted := int(r.Ports)
	if wanted == 0 {
		wanted = len(speeds)
	}
	switch {
	case fast >= wanted:
		return nil
	case r.PortSpeed == "":
		return []string{fmt.Sprintf("it has %d ports", fast)}
	}
	return []string{fmt.Sprintf("%d of its %d ports have %s or more", fast, len(speeds), r.PortSpeed)}
}

// speedsOf lists the speed of every port of a bed.
func speedsOf(bed *v1alpha1.TestBed) []v1alpha1.BitRate {
	if sim := bed.Spec.Engine.Sim; len(bed.Spec.Ports) == 0 && sim != nil && sim.Ports != nil {
		return slices.Repeat([]v1alpha1.BitRate{sim.Ports.Speed}, int(max(sim.Ports.Count, 0)))
	}
	var speeds []v1alpha1.BitRate
	for _, port := range bed.Spec.Ports {
		speeds = append(speeds, port.Speed)
	}
	return speeds
}

// Format writes what a bed must have in one line.
func Format(r *v1alpha1.TestBedRequirements) string {
	var parts []string
	if r.Ports > 0 {
		parts = append(parts, fmt.Sprintf("ports: %d", r.Ports))
	}
	if r.PortSpeed != "" {
		parts = append(parts, "portSpeed: "+string(r.PortSpeed))
	}
	list := func(name string, values []string) {
		if len(values) > 0 {
			parts = append(parts, name+": ["+strings.Join(values, ", ")+"]")
		}
	}
	list("engines", texts(r.Engines))
	list("devices", texts(r.Devices))
	list("features", texts(r.Features))
	return strings.Join(parts, ", ")
}

func texts[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// Closest describes the bed that lacks the fewest requirements of a benchmark, and which.
func Closest(beds []v1alpha1.TestBed, r *v1alpha1.TestBedRequirements) string {
	best, lacks := "", []string(nil)
	for i := range beds {
		if l := Lacks(&beds[i], r); best == "" || len(l) < len(lacks) {
			best, lacks = beds[i].Name, l
		}
	}
	if best == "" {
		return "the lab has no beds"
	}
	return fmt.Sprintf("closest is %s: %s", best, strings.Join(lacks, ", "))
}
