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

// collapsePPM is the share of the goodput with the smallest number of servers below which the goodput has
// collapsed, in parts per million.
const collapsePPM = 500_000

func describeIncast() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodIncast, Member: "incast", Mixes: true, Frameless: true, Workload: true,
			Given: func(t v1alpha1.Test) bool { return t.Incast != nil },
			Fits:  fitsIncast,
			Steps: func(test v1alpha1.Test, _ plan.Scale) (steps []plan.Step) {
				for _, n := range slices.Sorted(slices.Values(test.Incast.Servers)) {
					steps = append(steps, plan.Step{Servers: n, Trials: 1, Duration: incastTime(test.Incast, n)})
				}
				return steps
			},
		},
		Run:     incast,
		Purpose: "goodput and completion time of blocks that many servers send at once to one client, over TCP",
		Headline: inIncast.Headline(func(s *v1alpha1.IncastSummary) trials.Figure {
			return trials.Figure{Number: s.GoodputBitsPerSecond, Text: trials.RateText(s.GoodputBitsPerSecond)}
		}),
		Columns: []trials.Column{
			{Heading: "goodput", Name: "Mbit/s", Metric: "Goodput", Unit: trials.BitsPerSecond, Value: inIncast.Number(func(s *v1alpha1.IncastSummary) int64 { return s.GoodputBitsPerSecond })},
			{Heading: "packets", Name: "dropped", Value: inIncast.Optional(func(s *v1alpha1.IncastSummary) *int64 { return s.DeviceDrops })},
			{Heading: "TCP", Name: "retransmissions", Value: inIncast.Number(func(s *v1alpha1.IncastSummary) int64 { return s.Retransmissions })},
			{Heading: "TCP", Name: "timeouts", Value: inIncast.Number(func(s *v1alpha1.IncastSummary) int64 { return s.Timeouts })},
			{Heading: "completion, ms", Name: "avg", Unit: trials.LongNanoseconds, Value: inIncast.Number(func(s *v1alpha1.IncastSummary) int64 { return s.Completion.AvgNs })},
			{Heading: "completion, ms", Name: "p50", Unit: trials.LongNanoseconds, Value: inIncast.Number(func(s *v1alpha1.IncastSummary) int64 { return s.Completion.P50Ns })},
			{Heading: "completion, ms", Name: "p99", Unit: trials.LongNanoseconds, Value: inIncast.Number(func(s *v1alpha1.IncastSummary) int64 { return s.Completion.P99Ns })},
			{Heading: "completion, ms", Name: "max", Unit: trials.LongNanoseconds, Value: inIncast.Number(func(s *v1alpha1.IncastSummary) int64 { return s.Completion.MaxNs })},
			{Heading: "collapsed", Name: "from", Metric: "CollapsedFrom", Value: inIncast.Optional(func(s *v1alpha1.IncastSummary) *int64 { return s.CollapsedFrom })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Incast
			size := fmt.Sprintf("%s bytes from each server", traffic.Grouped(blockSize(t)))
			if t.TotalSize > 0 {
				size = fmt.Sprintf("%s bytes from all servers together", traffic.Grouped(t.TotalSize))
			}
			return fmt.Sprintf("%s requests of %s, over connections that stay open; MTU %d; packets and TCP counters are sums over all requests", traffic.Grouped(t.Iterations), size, t.MTU)
		},
	}
}

var inIncast = trials.Summary[v1alpha1.IncastSummary](func(row *v1alpha1.ResultRow) *v1alpha1.IncastSummary { return row.Incast })

// blockSize returns the number of bytes that each server sends.
func blockSize(t *v1alpha1.IncastTest) int64 {
	if t.BlockSize > 0 {
		return t.BlockSize
	}
	return v1alpha1.DefaultBlockSize
}

// blocks returns the numbers of bytes that so many servers send.
func blocks(t *v1alpha1.IncastTest, servers int32) []int64 {
	if t.TotalSize > 0 {
		return workload.Stripe(t.TotalSize, int(servers))
	}
	return slices.Repeat([]int64{blockSize(t)}, int(servers))
}

// incastTime estimates the time of a row, at 1 Gbit/s.
func incastTime(t *v1alpha1.IncastTest, servers int32) time.Duration {
	bytes := workload.IncastRequest{Blocks: blocks(t, servers)}.Bytes()
	return time.Duration(t.Iterations) * time.Duration(bytes*8) * time.Nanosecond
}

// incastPorts returns the port of the client and the ports of the servers; client is empty if the bed has no such port.
func incastPorts(t *v1alpha1.IncastTest, ports []plan.Port) (client string, servers []string) {
	for i, p := range ports {
		if p.Name == t.Client || t.Client == "" && i == 0 {
			client = p.Name
		} else {
			servers = append(servers, p.Name)
		}
	}
	return client, servers
}

// fitsIncast reports why a bed has no hosts as a test asks for them.
func fitsIncast(test v1alpha1.Test, in plan.Setting, path *field.Path) (errs field.ErrorList) {
	t := test.Incast
	client, servers := incastPorts(t, in.Ports)
	names := portNames(in.Ports)
	if client == "" {
		return field.ErrorList{field.NotSupported(path.Child("client"), t.Client, names)}
	}
	if len(t.Servers) == 0 || len(servers) == 0 {
		return field.ErrorList{field.Required(path.Child("servers"), fmt.Sprintf("give numbers of servers from 1 to %d, and a bed with a port next to the one of the client", workload.MaxHosts))}
	}
	if most := slices.Max(t.Servers); t.TotalSize > 0 && t.TotalSize < int64(most) {
		errs = append(errs, field.Invalid(path.Child("totalSize"), t.TotalSize, fmt.Sprintf("%d servers send at least 1 byte each: give %d or more, or fewer servers", most, most)))
	}
	if in.Bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return errs
	}
	most := int(slices.Max(t.Servers))
	return append(errs, hostsFit(test, in, path, func(_ int, p plan.Port) seats {
		w := seats{hosts: (most + len(servers) - 1) / len(servers), path: path.Child("servers"), value: most, fewer: "fewer servers"}
		if p.Name == client {
			w.hosts = 1
		}
		return w
	})...)
}
