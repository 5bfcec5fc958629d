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
	stateless := func(name, metric string, unit trials.Unit, value func(*v1alpha1.StatelessFrames) int64) trials.Column {
		return trials.Column{Heading: "stateless", Name: name, Metric: metric, Unit: unit, OfSome: true, Value: inIncast.Optional(func(s *v1alpha1.IncastSummary) *int64 {
			if s.Stateless == nil {
				return nil
			}
			return new(value(s.Stateless))
		})}
	}
	statelessLatency := func(name, metric string, value func(*v1alpha1.LatencySummary) int64) trials.Column {
		return trials.Column{Heading: "stateless, us", Name: name, Metric: metric, Unit: trials.Nanoseconds, OfSome: true, Value: inIncast.Optional(func(s *v1alpha1.IncastSummary) *int64 {
			if s.Stateless == nil || s.Stateless.Latency == nil {
				return nil
			}
			return new(value(s.Stateless.Latency))
		})}
	}
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodIncast, Member: "incast", Mixes: true, Frameless: true, Workload: true,
			Given: func(t v1alpha1.Test) bool { return t.Incast != nil },
			NextToHosts: func(t v1alpha1.Test) (int32, []string) {
				if t.Incast.Stateless == nil {
					return 0, nil
				}
				return t.Incast.Stateless.FrameSize, []string{"stateless", "frameSize"}
			},
			Validate: validateIncast,
			Fits:     fitsIncast,
			Steps: func(test v1alpha1.Test, _ plan.Scale) (steps []plan.Step) {
				for _, n := range slices.Sorted(slices.Values(test.Incast.Servers)) {
					s := plan.Step{Trials: 1}
					if next := test.Incast.Stateless; next != nil {
						s = plan.AtLoad(v1alpha1.Load(next.Load), 0)
					}
					s.Servers, s.Duration, s.Certain = n, incastTime(test.Incast, n), 0
					steps = append(steps, s)
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
			stateless("frames/s", "StatelessOffered", trials.Number, func(f *v1alpha1.StatelessFrames) int64 { return f.OfferedFramesPerSecond }),
			stateless("% lost", "StatelessLoss", trials.PPM, func(f *v1alpha1.StatelessFrames) int64 { return f.LossPPM }),
			stateless("% of port", "StatelessShare", trials.PPM, func(f *v1alpha1.StatelessFrames) int64 { return f.SharePPM }),
			statelessLatency("avg", "StatelessLatencyAvg", func(l *v1alpha1.LatencySummary) int64 { return l.AvgNs }),
			statelessLatency("p99", "StatelessLatencyP99", func(l *v1alpha1.LatencySummary) int64 { return l.P99Ns }),
			statelessLatency("max", "StatelessLatencyMax", func(l *v1alpha1.LatencySummary) int64 { return l.MaxNs }),
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Incast
			size := fmt.Sprintf("%s bytes from each server", traffic.Grouped(blockSize(t)))
			if t.TotalSize > 0 {
				size = fmt.Sprintf("%s bytes from all servers together", traffic.Grouped(t.TotalSize))
			}
			text := fmt.Sprintf("%s requests of %s, over connections that stay open; MTU %d; packets and TCP counters are sums over all requests", traffic.Grouped(t.Iterations), size, t.MTU)
			if next := t.Stateless; next != nil {
				text += fmt.Sprintf("; meanwhile frames of %d bytes go to the port of the client at %s of line rate", next.FrameSize, next.Load)
			}
			return text
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

// validateIncast refuses a load of stateless frames that is a rate: a rate depends on the frame size of the profile, which these
// frames do not have.
func validateIncast(test v1alpha1.Test, path *field.Path) (errs field.ErrorList) {
	if next := test.Incast.Stateless; next != nil && next.Load.IsRate() {
		errs = append(errs, field.Invalid(path.Child("stateless", "load"), string(next.Load), "give a percentage of line rate above 0% and up to 100%, such as 20%"))
	}
	return errs
}

// toClient returns the IDs of the streams whose frames go to a port, and to no other one.
func toClient(streams []plan.Stream, ports []plan.Port, client string) (ids []uint16) {
	for _, s := range streams {
		if len(s.Rx) == 1 && ports[s.Rx[0]].Name == client {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// statelessFits reports why no frames can go to the client's port next to its connections.
func statelessFits(t *v1alpha1.IncastTest, in plan.Setting, path *field.Path, client string) field.ErrorList {
	switch {
	case t.Stateless == nil:
		return nil
	case len(toClient(in.Streams, in.Ports, client)) == 0:
		return field.ErrorList{field.Invalid(path.Child("stateless"), string(t.Stateless.Load), fmt.Sprintf("no stream of the traffic profile %s goes to port %s of the client only: choose another client, or a pattern that sends to this port, such as pairs or fullMesh", in.Profile, client))}
	case slices.ContainsFunc(in.Streams, func(s plan.Stream) bool { return s.Flow != "" }):
		return field.ErrorList{field.Invalid(path.Child("stateless", "frameSize"), t.Stateless.FrameSize, fmt.Sprintf("the flows of the traffic profile %s have loads and sizes of their own: choose a profile without flows", in.Profile))}
	}
	return sizeNextToHosts(t.Stateless.FrameSize, in, path.Child("stateless", "frameSize"))
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
	errs = append(errs, statelessFits(t, in, path, client)...)
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
