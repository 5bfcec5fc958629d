package plan

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
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
	return p, nil
}

// frameSizes of a profile, by default those of RFC 2544 section 9.1.
func frameSizes(profile *v1alpha1.TrafficProfile) []int32 {
	if len(profile.Spec.FrameSizes) > 0 {
		return profile.Spec.FrameSizes
	}
	return []int32{64, 128, 256, 512, 1024, 1280, 1518}
}

// streams of a profile on ports.
func streams(profile *v1alpha1.TrafficProfile, ports []Port) []Stream {
	packet := profile.Spec.Packet
	ipv6 := packet.IPv6 != nil
	common := headers(packet)
	flows := flows(profile, ports)
	out := make([]Stream, len(flows))
	for i, f := range flows {
		s := Stream{ID: uint16(i), Tx: f.tx, Rx: f.rx, Part: f.part, Delay: f.delay, Headers: common}
		switch {
		case packet.Ethernet != nil:
			n := uint32(max(packet.Ethernet.HostsPerPort, 1))
			s.Headers.SrcMAC, s.Headers.DstMAC = firstMAC(f.tx), firstMAC(f.rx[0])
			s.Headers.SrcMACCount, s.Headers.DstMACCount = n, n
		default:
			source, _ := ports[f.tx].Address(ipv6)
			s.Headers.SrcIP, s.Headers.SrcIPCount = source.Addr(), hosts(profile)
			if f.group.IsValid() {
				s.Headers.DstIP, s.Headers.DstIPCount = f.group, 1
				break
			}
			destination, _ := ports[f.rx[0]].Address(ipv6)
			s.Headers.DstIP, s.Headers.DstIPCount = destination.Addr(), hosts(profile)
			s.Gateway = ports[f.tx].Gateway(ipv6)
		}
		out[i] = s
	}
	return out
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
