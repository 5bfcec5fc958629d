package plan

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// UDP ports of a profile that names none: a source above those that services
// use, and the discard port (RFC 2544 appendix C.2.6).
const (
	defaultSourcePort      = 20001
	defaultDestinationPort = 9
)

// Defaults of the API, for objects that no API server has seen.
const (
	defaultResolution  v1alpha1.Percentage = "0.1%"
	defaultMinLoad     v1alpha1.Percentage = "0.1%"
	defaultMaxLoad     v1alpha1.Percentage = "100%"
	defaultTrial                           = 60 * time.Second
	defaultSearchTrial                     = 10 * time.Second
)

// Build makes the plan. It fails with all errors of Validate when the three
// objects do not fit together.
func Build(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) (Plan, error) {
	if errs := Validate(b, profile, bed); len(errs) > 0 {
		return Plan{}, errs.ToAggregate()
	}
	ports, errs := Ports(bed)
	if len(errs) > 0 {
		return Plan{}, errs.ToAggregate()
	}
	p := Plan{
		Engine: bed.Spec.Engine.Kind, Ports: ports,
		Settle: b.Spec.SettleTime.Duration, Rest: b.Spec.RestTime.Duration,
	}
	if p.Settle <= 0 {
		p.Settle = DefaultSettle
	}
	p.Streams = streams(profile, ports)
	for _, test := range b.Spec.Tests {
		p.Steps = append(p.Steps, p.steps(test, frameSizes(profile))...)
	}
	p.Steps = perVariant(p.Steps, b.Spec.Variants)
	return p, nil
}

// frameSizes of a profile, by default those of RFC 2544 section 9.1.
func frameSizes(profile *v1alpha1.TrafficProfile) []int32 {
	if len(profile.Spec.FrameSizes) > 0 {
		return profile.Spec.FrameSizes
	}
	return []int32{64, 128, 256, 512, 1024, 1280, 1518}
}

// flow is a sender and a receiver, as indexes of the ports.
type flow struct{ tx, rx int }

// pairs joins the first port with the second, the third with the fourth.
func pairs(p v1alpha1.PairsPattern, ports int) []flow {
	var flows []flow
	for i := 0; i+1 < ports; i += 2 {
		flows = append(flows, flow{i, i + 1})
		if p.Bidirectional == nil || *p.Bidirectional {
			flows = append(flows, flow{i + 1, i})
		}
	}
	return flows
}

// flows of a profile's pattern.
func flows(profile *v1alpha1.TrafficProfile, ports int) []flow {
	if p := profile.Spec.Pattern.Pairs; p != nil {
		return pairs(*p, ports)
	}
	return nil
}

func streams(profile *v1alpha1.TrafficProfile, ports []Port) []Stream {
	ipv6 := profile.Spec.Packet.IPv6 != nil
	flows := flows(profile, len(ports))
	perPort := make([]int64, len(ports))
	for _, f := range flows {
		perPort[f.tx]++
	}
	headers := traffic.Headers{
		SrcIPCount: hosts(profile), DstIPCount: hosts(profile),
		SrcPort: defaultSourcePort, SrcPortCount: 1, DstPort: defaultDestinationPort, DstPortCount: 1,
	}
	if udp := profile.Spec.Packet.UDP; udp != nil {
		headers.SrcPort, headers.SrcPortCount = portRange(udp.SourcePorts, headers.SrcPort)
		headers.DstPort, headers.DstPortCount = portRange(udp.DestinationPorts, headers.DstPort)
	}
	out := make([]Stream, len(flows))
	for i, f := range flows {
		source, _ := ports[f.tx].Address(ipv6)
		destination, _ := ports[f.rx].Address(ipv6)
		headers.SrcIP, headers.DstIP = source.Addr(), destination.Addr()
		out[i] = Stream{
			ID: uint16(i), Tx: f.tx, Rx: []int{f.rx}, Part: perPort[f.tx],
			Headers: headers, Gateway: ports[f.tx].Gateway(ipv6),
		}
	}
	return out
}

func portRange(r *v1alpha1.PortRange, first uint16) (uint16, uint32) {
	if r == nil {
		return first, 1
	}
	return uint16(r.First), uint32(max(r.Count, 1))
}

func (p Plan) steps(test v1alpha1.Test, sizes []int32) []Step {
	if m, ok := methodOf(test); ok {
		return p.registeredSteps(m, test, sizes)
	}
	var steps []Step
	switch {
	case test.Throughput != nil:
		for _, size := range sizes {
			steps = append(steps, p.searchSteps(test, int(size))...)
		}
	case test.Latency != nil:
		d := orDefault(test.Latency.TrialDuration.Duration, defaultTrial)
		for _, size := range sizes {
			for _, load := range latencyLoads(*test.Latency) {
				step := Step{
					Test: test, Method: v1alpha1.MethodLatency, FrameSize: int(size),
					Load: load, TrialDuration: d, Trials: 1, Duration: d + p.Settle + p.Rest,
				}
				if load == v1alpha1.LoadThroughput {
					step.Source = p.lastThroughput()
				} else {
					step.LoadPPM, _ = v1alpha1.Percentage(load).PPM()
				}
				steps = append(steps, step)
			}
		}
	}
	return steps
}

// lastThroughput is the name of the nearest throughput test before.
func (p Plan) lastThroughput() string {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if p.Steps[i].Method == v1alpha1.MethodThroughput {
			return p.Steps[i].Test.Name
		}
	}
	return ""
}

func latencyLoads(t v1alpha1.LatencyTest) []v1alpha1.Load {
	if len(t.Loads) > 0 {
		return t.Loads
	}
	return []v1alpha1.Load{"10%", "50%", "90%", v1alpha1.LoadThroughput}
}

func orDefault(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}
