package plan

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
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
		Settle: b.Spec.SettleTime.Duration, Rest: b.Spec.Rest(), profile: profile,
	}
	if p.Settle <= 0 {
		p.Settle = DefaultSettle
	}
	p.Streams, p.Sizes = streams(profile, ports), sizes(profile)
	for _, test := range b.Spec.Tests {
		p.Steps = append(p.Steps, p.steps(test, p.Sizes)...)
	}
	p.Steps = perVariant(p.Steps, b.Spec.Variants)
	return p, nil
}

// streams of a profile on ports.
func streams(profile *v1alpha1.TrafficProfile, ports []Port) []Stream {
	flows, common := flows(profile, ports), headers(profile.Spec.Packet)
	out := make([]Stream, len(flows))
	for i, f := range flows {
		out[i] = stream(profile, ports, common, f)
		out[i].ID = uint16(i)
	}
	return out
}

// stream of a flow; h are the headers that all streams share.
func stream(profile *v1alpha1.TrafficProfile, ports []Port, h traffic.Headers, f flow) Stream {
	packet := profile.Spec.Packet
	ipv6 := packet.IPv6 != nil
	s := Stream{Tx: f.tx, Rx: f.rx, Part: f.part, Delay: f.delay, Headers: h}
	if packet.Ethernet != nil {
		n := uint32(max(packet.Ethernet.HostsPerPort, 1))
		s.Headers.SrcMAC, s.Headers.DstMAC = firstMAC(f.tx), firstMAC(f.rx[0])
		s.Headers.SrcMACCount, s.Headers.DstMACCount = n, n
		return s
	}
	source, _ := ports[f.tx].Address(ipv6)
	s.Headers.SrcIP, s.Headers.SrcIPCount = source.Addr(), hosts(profile)
	if f.group.IsValid() {
		s.Headers.DstIP, s.Headers.DstIPCount = f.group, 1
		return s
	}
	destination, _ := ports[f.rx[0]].Address(ipv6)
	s.Headers.DstIP, s.Headers.DstIPCount = destination.Addr(), hosts(profile)
	s.Gateway = ports[f.tx].Gateway(ipv6)
	return s
}

func (p Plan) steps(test v1alpha1.Test, sizes []Size) []Step {
	if m, ok := methodOf(test); ok {
		return p.registeredSteps(m, test, sizes)
	}
	var steps []Step
	switch {
	case test.Throughput != nil:
		for _, size := range sizes {
			steps = append(steps, p.searchSteps(test, size)...)
		}
	case test.Latency != nil:
		d := orDefault(test.Latency.TrialDuration.Duration, defaultTrial)
		for _, size := range sizes {
			for _, load := range latencyLoads(*test.Latency) {
				step := Step{
					Test: test, Method: v1alpha1.MethodLatency, Size: size,
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
