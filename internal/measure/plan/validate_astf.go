package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// validateASTF refuses hosts that a TRex server has not. A server has hosts or sends frames of streams, since it is started for one of both.
func validateASTF(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed, ports []Port) (errs field.ErrorList) {
	if bed.Spec.Engine.Kind != v1alpha1.EngineTRex || !NeedHosts(b.Spec.Tests) {
		return nil
	}
	if len(ports) != 2 || ports[0].Node != ports[1].Node {
		return field.ErrorList{field.Invalid(bedPath(bed).Child("ports"), len(ports), fmt.Sprintf(
			"one server of engine trex has the hosts of both ends of a connection, on two ports: give test bed %s two ports on one node", bed.Name))}
	}
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		if !ok {
			continue
		}
		path := field.NewPath("spec", "tests").Index(i).Child(m.Member)
		if !m.Workload {
			errs = append(errs, field.Invalid(path, test.Name, fmt.Sprintf(
				"a server of engine trex has hosts with TCP (mode ASTF) or sends frames (mode STL), and other tests of this benchmark need hosts: put %s into a benchmark without hosts", test.Name)))
			continue
		}
		errs = append(errs, capability.ASTF(test, m.Member, [2]string{ports[0].Name, ports[1].Name}, path)...)
	}
	return errs
}
