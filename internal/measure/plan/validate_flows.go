package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// maxFlows of a profile, as the schema has it.
const maxFlows = 8

// validateFlows reports what is wrong with the flows of a profile, beside their patterns
// and packets.
func validateFlows(profile *v1alpha1.TrafficProfile) field.ErrorList {
	spec, root := profile.Spec, profilePath(profile)
	if len(spec.Flows) == 0 {
		return nil
	}
	var errs field.ErrorList
	if len(spec.Flows) > maxFlows {
		errs = append(errs, field.TooMany(root.Child("flows"), len(spec.Flows), maxFlows))
	}
	if patternsGiven(spec.Pattern) > 0 || spec.Packet != (v1alpha1.Packet{}) {
		errs = append(errs, field.Forbidden(root.Child("flows"), "pattern and packet are those of a profile with one kind of traffic: remove them, or flows"))
	}
	if spec.Routing != nil {
		errs = append(errs, field.Forbidden(root.Child("routing"), "the frames of flows do not go to the networks of routes: remove routing, or give pattern and packet in place of flows"))
	}
	if spec.OwnSizes() && len(spec.FrameSizes)+len(spec.FrameMixes) > 0 {
		errs = append(errs, field.Forbidden(root.Child("flows"), "every flow has a size of its own, so that no flow uses frameSizes and frameMixes: remove them, or remove frameSize or frameMix of a flow"))
	}
	names := map[string]bool{}
	for i, f := range spec.Flows {
		path := root.Child("flows").Index(i)
		switch {
		case f.Name == "":
			errs = append(errs, field.Required(path.Child("name"), "give the flow a name for the results"))
		case names[f.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), f.Name))
		}
		names[f.Name] = true
		if _, err := f.Share.PPM(); err != nil {
			errs = append(errs, field.Invalid(path.Child("share"), f.Share, err.Error()))
		}
		if f.FrameSize != nil && f.FrameMix != nil {
			errs = append(errs, field.Forbidden(path.Child("frameMix"), "frameSize is given too: give one of them, or none for the sizes of the profile"))
		}
	}
	return append(errs, validateHostsOfFlows(spec.Flows, root)...)
}

// validateHostsOfFlows refuses hosts of both families: a port has a range of one.
func validateHostsOfFlows(flows []v1alpha1.TrafficFlow, root *field.Path) field.ErrorList {
	several := func(p *v1alpha1.IPPacket) bool { return p != nil && p.HostsPerPort > 1 }
	i := slices.IndexFunc(flows, func(f v1alpha1.TrafficFlow) bool { return several(f.Packet.IPv4) })
	j := slices.IndexFunc(flows, func(f v1alpha1.TrafficFlow) bool { return several(f.Packet.IPv6) })
	if i < 0 || j < 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(root.Child("flows").Index(j).Child("packet", "ipv6", "hostsPerPort"), flows[j].Packet.IPv6.HostsPerPort,
		fmt.Sprintf("flow %s has several hosts of IPv4, and a port answers for hosts of one family: give several hosts to flows of one family only", flows[i].Name))}
}

// validateFlowsOn refuses flows of which a port of the bed would send or receive more than
// line rate, or more than the engine can send.
func validateFlowsOn(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	if len(profile.Spec.Flows) == 0 {
		return nil
	}
	path := profilePath(profile).Child("flows")
	p := Plan{Ports: ports, Streams: streams(profile, ports)}
	errs := p.overbooked(path)
	copies := 1
	for _, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok {
			copies = max(copies, m.Copies)
		}
	}
	most := min(engine.MaxStreams, 1<<16)
	for _, size := range sizes(profile) {
		n := 0
		for _, s := range p.Streams {
			at := size
			if s.own != nil {
				at = *s.own
			}
			n += at.components() * copies
		}
		if n > most {
			return append(errs, field.Invalid(path, len(profile.Spec.Flows), fmt.Sprintf(
				"they make %d streams on the %s, and engine %s takes at most %d: use fewer flows or sizes, or a bed with fewer ports", n, onBed(ports, bed), bed.Spec.Engine.Kind, most)))
		}
		for _, s := range p.At(size).Streams() {
			bits := frame.WireBits(max(s.Size, size.Bytes))
			if s.mix != nil {
				bits = s.mix.WireBits()
			}
			if exact(bits, ports[s.Tx].BitsPerSecond, max(s.Part, 1)*int64(copies)) {
				continue
			}
			return append(errs, field.Invalid(path, s.Flow, fmt.Sprintf(
				"the share of flow %s cannot be kept exactly with %s: give a share with fewer digits, or smaller weights", s.Flow, size.InWords())))
		}
	}
	return errs
}

// overbooked are the ports that would send or receive more than line rate.
func (p Plan) overbooked(path *field.Path) field.ErrorList {
	type direction struct {
		port  int
		sends bool
	}
	sums, flows := map[direction]*big.Rat{}, map[direction][]string{}
	add := func(d direction, s Stream) {
		if sums[d] == nil {
			sums[d] = new(big.Rat)
		}
		sums[d].Add(sums[d], s.share())
		if !slices.Contains(flows[d], s.Flow) {
			flows[d] = append(flows[d], s.Flow)
		}
	}
	for _, s := range p.Streams {
		add(direction{s.Tx, true}, s)
		for _, rx := range s.Rx {
			add(direction{rx, false}, s)
		}
	}
	var errs field.ErrorList
	for i, port := range p.Ports {
		for _, d := range []direction{{i, true}, {i, false}} {
			if sum := sums[d]; sum != nil && sum.Cmp(big.NewRat(1, 1)) > 0 {
				does := map[bool]string{true: "send", false: "receive"}[d.sends]
				errs = append(errs, field.Invalid(path, strings.Join(flows[d], ", "), fmt.Sprintf(
					"at a load of 100%% port %s would %s %s%% of line rate: lower the share of these flows", port.Name, does, new(big.Rat).Mul(sum, big.NewRat(100, 1)).FloatString(2))))
			}
		}
	}
	return errs
}
