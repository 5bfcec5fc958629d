package method

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// requestTime estimates the time of a request through the device and one back to back.
const requestTime = 500 * time.Microsecond

func describeRPCLatency() trials.Definition {
	roundTrip := func(name string, value func(*v1alpha1.RoundTripTimes) int64) trials.Column {
		return trials.Column{Heading: "round trip, us", Name: name, Unit: trials.Nanoseconds, Value: inRPC.Number(func(s *v1alpha1.RPCLatencySummary) int64 { return value(&s.RoundTrip) })}
	}
	device := func(name string, value func(*v1alpha1.TimeEstimate) int64) trials.Column {
		return trials.Column{Heading: "device, us", Name: name, Unit: trials.Nanoseconds, Value: inRPC.Optional(func(s *v1alpha1.RPCLatencySummary) *int64 {
			if s.Device == nil {
				return nil
			}
			return new(value(s.Device))
		})}
	}
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodRPCLatency, Member: "rpcLatency", Mixes: true, Frameless: true, Workload: true,
			Given: func(t v1alpha1.Test) bool { return t.RPCLatency != nil },
			NextToHosts: func(t v1alpha1.Test) (int32, []string) {
				if len(t.RPCLatency.Background) == 0 {
					return 0, nil
				}
				return t.RPCLatency.BackgroundFrameSize, []string{"backgroundFrameSize"}
			},
			Validate: validateRPC,
			Fits:     fitsRPC,
			Steps: func(test v1alpha1.Test, _ plan.Scale) (steps []plan.Step) {
				t := test.RPCLatency
				took := time.Duration(t.Requests+t.WarmUpRequests) * requestTime
				for _, n := range slices.Sorted(slices.Values(t.MessageSizes)) {
					steps = append(steps, plan.Step{MessageSize: n, Trials: 1, Duration: took})
					for _, load := range t.Background {
						s := plan.AtLoad(v1alpha1.Load(load), 0)
						s.MessageSize, s.Duration, s.Certain = n, took, 0
						steps = append(steps, s)
					}
				}
				return steps
			},
		},
		Run:     rpcLatency,
		Purpose: "round-trip time of requests and responses over TCP, and the share of the device in it",
		Headline: inRPC.Headline(func(s *v1alpha1.RPCLatencySummary) trials.Figure {
			return trials.TimeFigure(s.RoundTrip.P50Ns)
		}),
		Columns: []trials.Column{
			roundTrip("p50", func(r *v1alpha1.RoundTripTimes) int64 { return r.P50Ns }),
			roundTrip("p90", func(r *v1alpha1.RoundTripTimes) int64 { return r.P90Ns }),
			roundTrip("p99", func(r *v1alpha1.RoundTripTimes) int64 { return r.P99Ns }),
			roundTrip("p99.9", func(r *v1alpha1.RoundTripTimes) int64 { return r.P999Ns }),
			roundTrip("max", func(r *v1alpha1.RoundTripTimes) int64 { return r.MaxNs }),
			roundTrip("avg", func(r *v1alpha1.RoundTripTimes) int64 { return r.AvgNs }),
			{Heading: "back to back, us", Name: "p50", Unit: trials.Nanoseconds, Value: inRPC.Optional(func(s *v1alpha1.RPCLatencySummary) *int64 {
				if s.BackToBack == nil {
					return nil
				}
				return &s.BackToBack.P50Ns
			})},
			device("share", func(e *v1alpha1.TimeEstimate) int64 { return e.Ns }),
			device("low", func(e *v1alpha1.TimeEstimate) int64 { return e.LowNs }),
			device("high", func(e *v1alpha1.TimeEstimate) int64 { return e.HighNs }),
			{Heading: "background", Name: "loss %", Metric: "BackgroundLoss", Unit: trials.PPM, Value: inRPC.Optional(func(s *v1alpha1.RPCLatencySummary) *int64 {
				if s.Background == nil {
					return nil
				}
				return &s.Background.LossPPM
			})},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.RPCLatency
			text := fmt.Sprintf("%s requests one after the other, over a connection that stays open, after %s that do not count; MTU %d", traffic.Grouped(t.Requests), traffic.Grouped(t.WarmUpRequests), t.MTU)
			if len(t.Background) > 0 {
				text += fmt.Sprintf("; the background has frames of %d bytes", t.BackgroundFrameSize)
			}
			return text
		},
	}
}

var inRPC = trials.Summary[v1alpha1.RPCLatencySummary](func(row *v1alpha1.ResultRow) *v1alpha1.RPCLatencySummary { return row.RPCLatency })

// validateRPC refuses loads that are rates: a rate depends on the frame size of the profile, which the background does not have.
func validateRPC(test v1alpha1.Test, path *field.Path) (errs field.ErrorList) {
	for i, load := range test.RPCLatency.Background {
		if load.IsRate() {
			errs = append(errs, field.Invalid(path.Child("background").Index(i), string(load), "give a percentage of line rate above 0% and up to 100%, such as 40%"))
		}
	}
	return errs
}

// fitsRPC reports why a bed has no hosts as a test asks for them.
func fitsRPC(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	errs := pairFits(test, in, path, end{"client", test.RPCLatency.Client}, end{"server", test.RPCLatency.Server})
	if len(test.RPCLatency.Background) > 0 {
		errs = append(errs, sizeNextToHosts(test.RPCLatency.BackgroundFrameSize, in, path.Child("backgroundFrameSize"))...)
	}
	return errs
}
