package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// validateTests reports what is wrong with the tests of a benchmark for
// themselves.
func validateTests(b *v1alpha1.Benchmark) field.ErrorList {
	var errs field.ErrorList
	root := field.NewPath("spec", "tests")
	if len(b.Spec.Tests) == 0 {
		return field.ErrorList{field.Required(root, "give at least one test")}
	}
	throughput := false
	names := map[string]bool{}
	for i, test := range b.Spec.Tests {
		path := root.Index(i)
		if names[test.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), test.Name))
		}
		names[test.Name] = true
		m, _ := methodOf(test)
		switch given := membersGiven(test); {
		case given != 1:
			errs = append(errs, field.Required(path, "give exactly one method: "+strings.Join(members(), ", ")))
		default:
			errs = append(errs, m.validate(test, throughput, path.Child(m.Member))...)
			throughput = throughput || m.FindsThroughput
		}
	}
	return errs
}

func validateLoads(loads []loadField, throughputBefore bool) field.ErrorList {
	var errs field.ErrorList
	for _, f := range loads {
		if f.load == v1alpha1.LoadThroughput {
			if !throughputBefore {
				errs = append(errs, field.Invalid(f.path, f.load,
					"no throughput test stands before this test, so its rate is not known: add a throughput test before it, or give a percentage"))
			}
		} else if _, _, err := f.load.Amount(); err != nil {
			errs = append(errs, field.Invalid(f.path, f.load, v1alpha1.LoadHint+", or the word throughput"))
		}
	}
	return errs
}

// validateLatency refuses latency that the engine cannot measure: at all, or
// between ports of different nodes, whose clocks differ.
func validateLatency(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		if !ok || !m.Latency && (m.TestsLatency == nil || !m.TestsLatency(test)) {
			continue
		}
		path := field.NewPath("spec", "tests").Index(i).Child(m.Member)
		if !engine.PerFrameLatency && !engine.SampledLatency {
			errs = append(errs, field.Invalid(path, test.Name,
				fmt.Sprintf("engine %s of test bed %s does not measure latency: choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name)))
			continue
		}
		if err := validateTimed(test, profile, bed, ports, engine, path); err != nil {
			errs = append(errs, err)
		}
		if engine.CrossHostLatency {
			continue
		}
		if tx, rx, far := farFlow(allFlows(profile, ports), ports); far {
			errs = append(errs, field.Invalid(path, test.Name,
				fmt.Sprintf("latency from %s on node %s to %s on node %s needs a common clock, which engine %s does not have: put both ports of a pair on one node, or measure throughput only",
					tx.Name, tx.Node, rx.Name, rx.Node, bed.Spec.Engine.Kind)))
		}
	}
	return errs
}

// farFlow finds a sender and a receiver on different nodes.
func farFlow(flows []flow, ports []Port) (tx, rx Port, far bool) {
	for _, f := range flows {
		for _, i := range f.rx {
			if tx, rx := ports[f.tx], ports[i]; tx.Node != rx.Node {
				return tx, rx, true
			}
		}
	}
	return Port{}, Port{}, false
}
