package method_test

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

func init() {
	method.RowOf = func(p plan.Plan, out trials.Outcome) v1alpha1.ResultRow {
		var in result.Input
		in.Bed = objects.TestBed("")
		in.Bed.Spec.Engine.Kind = v1alpha1.EngineSim
		in.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
		in.Info.Capabilities, _ = capability.For(in.Bed.Spec.Engine)
		in.Outcome = out
		return result.Row(p, in)
	}
}
