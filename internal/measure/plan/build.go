package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Build makes the plan. It fails with all errors of Validate when the three
// objects do not fit together.
func Build(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) (Plan, error) {
	if errs := Validate(b, profile, bed); len(errs) > 0 {
		return Plan{}, errs.ToAggregate()
	}
	profile = profile.For(&b.Spec)
	ports, errs := Ports(bed)
	if len(errs) > 0 {
		return Plan{}, errs.ToAggregate()
	}
	p := Plan{
		Engine: bed.Spec.Engine.Kind, Ports: ports,
		Settle: b.Spec.SettleTime.Duration, Rest: b.Spec.Rest(), profile: profile,
	}
	for i := range ports {
		ports[i].VLANs = ports[i].VLANsUnder(profile)
	}
	p.Sessions, _ = Sessions(bed)
	p.RoutesMulticast = RoutesMulticast(bed)
	p.Announcements = announcements(profile, p.Sessions, ports)
	engine, _ := capability.For(bed.Spec.Engine)
	p.Ports = underRouting(profile, p.Announcements, p.Sessions, ports, engine)
	p.Streams, p.Sizes = streams(profile, p.Ports), sizes(profile)
	for i, size := range p.Sizes {
		p.Sizes[i] = p.blended(size)
	}
	for _, test := range b.Spec.Tests {
		p.Steps = append(p.Steps, p.steps(test, p.Sizes)...)
	}
	p.Steps = perVariant(p.Steps, b.Spec.Variants)
	return p, nil
}

// streams of a profile on ports.
func streams(profile *v1alpha1.TrafficProfile, ports []Port) []Stream {
	var out []Stream
	for _, s := range Sections(profile) {
		out = append(out, s.streams(ports)...)
	}
	for i := range out {
		out[i].ID = uint16(i)
	}
	return out
}

// stream of a flow; h are the headers that all streams share.
func stream(profile *v1alpha1.TrafficProfile, ports []Port, h traffic.Headers, f flow) Stream {
	packet := profile.Spec.Packet
	ipv6 := packet.IPv6 != nil
	s := Stream{Tx: f.tx, Rx: f.rx, Part: f.part, Times: f.times, Delay: f.delay, Headers: h}
	s.Headers.VLANs = ports[f.tx].VLANsUnder(profile)
	if packet.TrackMicroflows {
		s.Track = traffic.TrackCounts
	}
	if packet.Custom != nil {
		if family := frame.CustomFamily(h.Custom); family != 0 {
			s.Gateway = ports[f.tx].Gateway(family == 6)
		}
		if !s.Gateway.IsValid() {
			s.Headers.SrcMAC, s.Headers.DstMAC = firstMAC(f.tx), firstMAC(f.rx[0])
		}
		return s
	}
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
	s.Headers.Tunnel = frame.TunnelOf(packet.Tunnel, s.Headers.SrcIP, s.Headers.DstIP)
	if packet.Tunnel != nil {
		s.Headers.Tunnel.SrcMAC, s.Headers.Tunnel.DstMAC = firstMAC(f.tx), firstMAC(f.rx[0])
	}
	return s
}

// steps of a test over all sizes, each repetition after the one before: what changes slowly
// affects all sizes alike.
func (p Plan) steps(test v1alpha1.Test, sizes []Size) []Step {
	m, ok := methodOf(test)
	if !ok {
		return nil
	}
	if m.Frameless {
		sizes = []Size{{}}
	}
	once := p.stepsOnce(m, test, sizes)
	if test.Repetitions <= 1 {
		return once
	}
	var steps []Step
	for n := range test.Repetitions {
		for _, s := range once {
			s.Repetition = n + 1
			steps = append(steps, s)
		}
	}
	return steps
}

// stepsOnce are the steps of one repetition.
func (p Plan) stepsOnce(m Method, test v1alpha1.Test, sizes []Size) []Step {
	var steps []Step
	source := p.lastThroughput()
	for _, size := range sizes {
		ofSize := m.Steps(test, p.scale(m, size))
		for i, s := range ofSize {
			if s.Load.IsRate() && len(p.Streams) > 0 {
				ofSize[i].LoadPPM = p.At(size).PPM(s.Amount)
			}
		}
		if m.Rising {
			slices.SortStableFunc(ofSize, func(a, b Step) int {
				return cmp.Compare(cmp.Or(a.LoadPPM, v1alpha1.PPM+1), cmp.Or(b.LoadPPM, v1alpha1.PPM+1))
			})
		}
		for _, s := range ofSize {
			s.Test, s.Size, s.Source = test, size, source
			s.Method = cmp.Or(s.Method, m.Name)
			s.Search.Overhead = p.Settle + p.Rest
			if s.Duration == 0 {
				s.Duration = time.Duration(s.Trials) * s.TrialDuration
			}
			s.Duration += time.Duration(s.Trials) * (p.Settle + p.Rest)
			steps = append(steps, s)
		}
	}
	return steps
}

// lastThroughput is the name of the nearest throughput test before.
func (p Plan) lastThroughput() string {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if m, ok := methodOf(p.Steps[i].Test); ok && m.FindsThroughput {
			return p.Steps[i].Test.Name
		}
	}
	return ""
}

// headers returns the headers that all streams of a profile share: everything but the
// addresses.
func headers(packet v1alpha1.Packet) traffic.Headers {
	var h traffic.Headers
	if packet.Custom != nil {
		h.Custom, _ = frame.CustomBytes(*packet.Custom) // validated before
	}
	source, destination := packet.UDPPorts()
	h.SrcPort, h.SrcPortCount = uint16(source.First), uint32(source.Count)
	h.DstPort, h.DstPortCount = uint16(destination.First), uint32(destination.Count)
	h.Payload, h.RoCE = frame.PayloadOf(packet.Payload), frame.RoCEOf(packet.RoCEv2)
	if packet.MPLS != nil {
		for _, label := range packet.MPLS.Labels {
			h.Labels = append(h.Labels, uint32(label))
		}
	}
	switch {
	case packet.DSCP != nil:
		h.TrafficClass = uint8(*packet.DSCP) << 2
	case packet.IPPrecedence != nil:
		h.TrafficClass = uint8(*packet.IPPrecedence) << 5
	}
	switch packet.ECN {
	case v1alpha1.ECT0:
		h.TrafficClass |= traffic.ECT0
	case v1alpha1.ECT1:
		h.TrafficClass |= traffic.ECT1
	}
	return h
}

// macSeed makes the hardware addresses of a bed the same in every run.
const macSeed = 4814

// firstMAC returns the first MAC address behind a port, by the port's index. The second and
// third octet contain the port's number, so that no two ports share an address. The others
// are pseudorandom (RFC 4814 section 4.2). The address is unicast, and locally administered,
// so that no manufacturer assigns it.
func firstMAC(port int) traffic.MAC {
	rng := rand.New(rand.NewPCG(macSeed, uint64(port)))
	n := rng.Uint32()
	number := port + 1
	return traffic.MAC{byte(n)&^0b11 | 0b10, byte(number >> 8), byte(number), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
}
