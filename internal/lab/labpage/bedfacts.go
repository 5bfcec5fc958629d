package labpage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// Device describes the device of the bed.
func (v bedView) Device() string { return device.Describe(v.Bed.Spec.Device) }

// Tester describes engine and ports: "sim, 256 ports of 100G".
func (v bedView) Tester() string {
	ports, speeds := len(v.Bed.Spec.Ports), map[string]bool{}
	for _, p := range v.Bed.Spec.Ports {
		speeds[string(p.Speed)] = true
	}
	if sim := v.Bed.Spec.Engine.Sim; sim != nil && sim.Ports != nil {
		ports, speeds = int(sim.Ports.Count), map[string]bool{string(sim.Ports.Speed): true}
	}
	text := fmt.Sprintf("%s, %s", v.Bed.Spec.Engine.Kind, count(ports, "port"))
	if delete(speeds, ""); len(speeds) > 0 {
		text += " of " + strings.Join(slices.SortedFunc(maps.Keys(speeds), compareNaturally), " and ")
	}
	return text
}

// labelsOf returns the labels by which benchmarks select a bed, as "key=value". Labels of tools are left out.
func labelsOf(bed *v1alpha1.TestBed) (labels []string) {
	for _, key := range slices.Sorted(maps.Keys(bed.Labels)) {
		if !strings.Contains(key, "kubernetes.io/") && !strings.HasPrefix(key, "helm.sh/") {
			labels = append(labels, key+"="+bed.Labels[key])
		}
	}
	return labels
}
