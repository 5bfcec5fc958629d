package plan

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The methods of these tests are fakes: the real ones are in package method, which
// imports this one.
func init() {
	Register(Method{
		Name: v1alpha1.MethodThroughput, Member: "throughput", Mixes: true, FindsThroughput: true,
		Given: func(t v1alpha1.Test) bool { return t.Throughput != nil },
		Steps: func(v1alpha1.Test, Scale) []Step {
			return []Step{{Trials: 10, TrialDuration: time.Minute, Duration: 2 * time.Minute}}
		},
	})
	Register(Method{
		Name: v1alpha1.MethodLatency, Member: "latency", Mixes: true, Latency: true,
		Given: func(t v1alpha1.Test) bool { return t.Latency != nil },
		Loads: func(t v1alpha1.Test) []v1alpha1.Load { return t.Latency.Loads },
		Steps: func(t v1alpha1.Test, _ Scale) []Step {
			var steps []Step
			for _, load := range t.Latency.Loads {
				steps = append(steps, AtLoad(load, time.Minute))
			}
			return steps
		},
	})
}
