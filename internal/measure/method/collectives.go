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
	"nodrop.dev/nodrop/internal/workload"
)

func describeCollectives() trials.Definition {
	completion := func(name string, value func(v1alpha1.CompletionTimes) int64) trials.Column {
		return trials.Column{Heading: "completion, ms", Name: name, Unit: trials.LongNanoseconds, Value: inCollectives.Number(func(s *v1alpha1.CollectivesSummary) int64 { return value(s.Completion) })}
	}
	link := func(name string, value func(*v1alpha1.SlowestLink) int64) trials.Column {
		return trials.Column{Heading: "slowest link, ms", Name: name, Unit: trials.LongNanoseconds, Value: inCollectives.Optional(func(s *v1alpha1.CollectivesSummary) *int64 {
			if s.SlowestLink == nil {
				return nil
			}
			return new(value(s.SlowestLink))
		})}
	}
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodCollectives, Member: "collectives", Mixes: true, Frameless: true, Workload: true,
			Given:    func(t v1alpha1.Test) bool { return t.Collectives != nil },
			Validate: validateCollectives,
			Fits:     fitsCollectives,
			Steps: func(test v1alpha1.Test, _ plan.Scale) (steps []plan.Step) {
				t := test.Collectives
				for _, n := range slices.Sorted(slices.Values(t.MessageSizes)) {
					steps = append(steps, plan.Step{MessageSize: n, Trials: 1, Duration: collectiveTime(t, n)})
				}
				return steps
			},
		},
		Run:     collectives,
		Purpose: "completion time and bandwidth of AllReduce and AllToAll between hosts over TCP, with checked results, and the slowest link",
		Headline: inCollectives.Headline(func(s *v1alpha1.CollectivesSummary) trials.Figure {
			return trials.Figure{Number: s.BusBitsPerSecond, Text: trials.RateText(s.BusBitsPerSecond)}
		}),
		Columns: []trials.Column{
			completion("p50", func(c v1alpha1.CompletionTimes) int64 { return c.P50Ns }),
			completion("p99", func(c v1alpha1.CompletionTimes) int64 { return c.P99Ns }),
			completion("max", func(c v1alpha1.CompletionTimes) int64 { return c.MaxNs }),
			{Heading: "algorithm bandwidth", Name: "Mbit/s", Metric: "AlgorithmBandwidth", Unit: trials.BitsPerSecond, Value: inCollectives.Number(func(s *v1alpha1.CollectivesSummary) int64 { return s.AlgorithmBitsPerSecond })},
			{Heading: "bus bandwidth", Name: "Mbit/s", Metric: "BusBandwidth", Unit: trials.BitsPerSecond, Value: inCollectives.Number(func(s *v1alpha1.CollectivesSummary) int64 { return s.BusBitsPerSecond })},
			link("p50", func(l *v1alpha1.SlowestLink) int64 { return l.P50Ns }),
			link("others", func(l *v1alpha1.SlowestLink) int64 { return l.OthersP50Ns }),
			{Heading: "TCP", Name: "retransmissions", Value: inCollectives.Number(func(s *v1alpha1.CollectivesSummary) int64 { return s.Retransmissions })},
			{Heading: "results", Name: "wrong", Value: inCollectives.Number(func(s *v1alpha1.CollectivesSummary) int64 { return s.WrongResults })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Collectives
			return fmt.Sprintf("%s of %d hosts, %s times after %s that do not count, over connections that stay open; MTU %d; every host compares its result with the expected one",
				t.Algorithm, t.Hosts, traffic.Grouped(t.Repetitions), traffic.Grouped(t.WarmUpRepetitions), t.MTU)
		},
	}
}

var inCollectives = trials.Summary[v1alpha1.CollectivesSummary](func(row *v1alpha1.ResultRow) *v1alpha1.CollectivesSummary { return row.Collectives })

// collectiveRequest returns the request of a row.
func collectiveRequest(t *v1alpha1.CollectivesTest, size int32, ports []string) workload.CollectiveRequest {
	return workload.CollectiveRequest{
		Algorithm: workload.Algorithm(t.Algorithm), Ports: ports, Hosts: int(t.Hosts), Bytes: int64(size),
		Repetitions: int(t.Repetitions), WarmUp: int(t.WarmUpRepetitions), MTU: int(t.MTU), CongestionControl: t.CongestionControl,
	}
}

// collectiveTime estimates the time of a row, at 1 Gbit/s.
func collectiveTime(t *v1alpha1.CollectivesTest, size int32) time.Duration {
	numerator, denominator := collectiveRequest(t, size, nil).BusFactor()
	return time.Duration(t.Repetitions+t.WarmUpRepetitions) * time.Duration(int64(size)*8*numerator/denominator) * time.Nanosecond
}

// validateCollectives refuses sizes that hosts cannot divide or hold.
func validateCollectives(test v1alpha1.Test, path *field.Path) (errs field.ErrorList) {
	t := test.Collectives
	hosts := int64(t.Hosts)
	if hosts < 2 { // the API has refused it
		return nil
	}
	least, most := hosts*workload.ElementBytes, workload.MaxCollectiveBytes/hosts
	for i, size := range t.MessageSizes {
		at := path.Child("messageSizes").Index(i)
		switch n := int64(size); {
		case n%workload.ElementBytes != 0:
			errs = append(errs, field.Invalid(at, size, fmt.Sprintf("give a multiple of %d, the bytes of a number, such as %d", workload.ElementBytes, n-n%workload.ElementBytes+workload.ElementBytes)))
		case n < least:
			errs = append(errs, field.Invalid(at, size, fmt.Sprintf("each of %d hosts needs a part of %d bytes: give %d or more", hosts, workload.ElementBytes, least)))
		case n > most:
			errs = append(errs, field.Invalid(at, size, fmt.Sprintf("the messages of all hosts may have %d bytes together: give %d or less for %d hosts, or fewer hosts", workload.MaxCollectiveBytes, most-most%workload.ElementBytes, hosts)))
		}
	}
	return errs
}

// fitsCollectives reports why a bed has no hosts as a test asks for them.
func fitsCollectives(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	t := test.Collectives
	if len(in.Ports) < 2 {
		return field.ErrorList{field.Invalid(path.Child("hosts"), t.Hosts, fmt.Sprintf("hosts on at least two ports exchange messages, and test bed %s has %d: choose a bed with two ports or more", in.Bed.Name, len(in.Ports)))}
	}
	if in.Bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return nil
	}
	return hostsFit(test, in, path, func(i int, _ plan.Port) seats {
		return seats{hosts: (int(t.Hosts) - i + len(in.Ports) - 1) / len(in.Ports), path: path.Child("hosts"), value: t.Hosts, fewer: "fewer hosts"}
	})
}
