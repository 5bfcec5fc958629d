package preflight

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// hostsFit checks that the bed allows the hosts of tests with TCP, and that one traffic pod has all its ports. A TRex server has
// hosts without a right of the kernel.
func hostsFit(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) field.ErrorList {
	if bed.Spec.Engine.Kind != v1alpha1.EngineXDP {
		return nil
	}
	for i, t := range b.Spec.Tests {
		member := plan.HostsOf(t)
		if member == "" {
			continue
		}
		path := field.NewPath("spec", "tests").Index(i).Child(member)
		if bed.Spec.Hosts == nil {
			return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
				"test bed %s allows no hosts with TCP on its ports, which need the capability SYS_ADMIN in its traffic pod: ask the owner of the lab to set spec.hosts of the bed, or measure with nodrop run on one computer", bed.Name))}
		}
		for _, p := range bed.Spec.Ports {
			if first := bed.Spec.Ports[0]; p.Node != first.Node {
				return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
					"ports %s and %s of test bed %s are on nodes %s and %s, and one traffic pod has all hosts: use a bed with all ports on one node", first.Name, p.Name, bed.Name, first.Node, p.Node))}
			}
		}
	}
	return nil
}

// modelHasHosts refuses tests of connections on the engine sim.
func modelHasHosts(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) field.ErrorList {
	for i, t := range b.Spec.Tests {
		if t.Connections != nil && bed.Spec.Engine.Kind == v1alpha1.EngineSim {
			return field.ErrorList{field.Forbidden(field.NewPath("spec", "tests").Index(i).Child("connections"), fmt.Sprintf(
				"the engine sim of test bed %s models no devices that keep connections: leave the test out here, and measure with nodrop run on a bed with the engine xdp", bed.Name))}
		}
	}
	return nil
}
