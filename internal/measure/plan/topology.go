package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// Topology contains what a method with its own streams requires of the bed: the streams run
// between the first ports, and not as the profile's pattern specifies.
type Topology struct {
	// Ports is the number of ports that it needs, from the first one on.
	Ports int
	// Flows are the senders and receivers, as indexes of the ports, of frames with the
	// profile's packet; none for frames of the method's own making.
	Flows [][2]int
	// OneNetwork reports whether all ports of the bed must be on one layer-2 network.
	OneNetwork bool
	// OneSpeed reports whether these ports must have one speed.
	OneSpeed bool
}

// Between is a stream with the profile's packet from one port to another, by their
// index. It has the whole load of its sender.
func (p Plan) Between(tx, rx int) Stream {
	return stream(p.profile, p.Ports, headers(p.profile.Spec.Packet), flow{tx: tx, rx: []int{rx}, part: 1})
}

// validateTopologies refuses tests whose own streams do not fit the bed.
func validateTopologies(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		if !ok || m.Topology == nil {
			continue
		}
		path := field.NewPath("spec", "tests").Index(i).Child(m.Member)
		if have, need := len(ports), m.Topology.Ports; have < need {
			errs = append(errs, field.Invalid(path, test.Name,
				fmt.Sprintf("test bed %s has %d ports, and %s needs %d: add ports, or choose another bed", bed.Name, have, m.Member, need)))
			continue
		}
		if len(profile.Spec.Flows) > 0 {
			errs = append(errs, field.Invalid(path, test.Name,
				fmt.Sprintf("%s makes its own streams with the packet of a profile, and profile %s has flows: use a profile with pattern and packet for this test", m.Member, profile.Name)))
			continue
		}
		for _, text := range m.Topology.problems(m.Member, bed, profile, ports) {
			errs = append(errs, field.Invalid(path, test.Name, text))
		}
		for _, f := range m.Topology.Flows {
			if tx, rx := ports[f[0]], ports[f[1]]; tx.Node != rx.Node && !engine.CrossHost {
				errs = append(errs, field.Invalid(path, test.Name, fmt.Sprintf("%s sends %s", m.Member, notCounted(tx, rx, bed))))
				break
			}
		}
	}
	return errs
}

// problems are why a bed does not do, each with what to do.
func (t Topology) problems(member string, bed *v1alpha1.TestBed, profile *v1alpha1.TrafficProfile, ports []Port) []string {
	var found []string
	if i := slices.IndexFunc(ports, func(p Port) bool { return len(p.Gateways) > 0 }); t.OneNetwork && i >= 0 {
		found = append(found, fmt.Sprintf("port %s has the gateway %s, and %s is about a device that bridges one layer-2 network: remove the gateways of test bed %s, or choose another bed",
			ports[i].Name, ports[i].Gateways[0], member, bed.Name))
	}
	first := ports[0]
	if i := slices.IndexFunc(ports[:t.Ports], func(p Port) bool { return p.BitsPerSecond != first.BitsPerSecond }); t.OneSpeed && i >= 0 {
		found = append(found, fmt.Sprintf("port %s runs at %s and port %s at %s, and %s needs ports of one speed: put such ports first in test bed %s, or choose another bed",
			first.Name, first.Speed, ports[i].Name, ports[i].Speed, member, bed.Name))
	}
	for _, f := range t.Flows {
		if text := unreachable(profile, bed.Spec.Engine.Kind, ports[f[0]], ports[f[1]], member); text != "" {
			return append(found, fmt.Sprintf("%s: change the addresses and gateways of test bed %s, or choose another bed", text, bed.Name))
		}
	}
	return found
}

// unreachable returns the reason why frames of the profile do not get from one port to
// another; empty if they do.
func unreachable(profile *v1alpha1.TrafficProfile, engine v1alpha1.EngineKind, tx, rx Port, member string) string {
	if profile.Spec.Packet.Ethernet != nil {
		if own, peer, apart := otherNetworks(tx, rx); apart && engine != v1alpha1.EngineSim {
			return fmt.Sprintf("%s sends frames without a network layer from %s on port %s to %s on port %s, which is another network", member, own, tx.Name, peer, rx.Name)
		}
		return ""
	}
	if profile.Spec.Packet.Custom != nil {
		return ""
	}
	ipv6, family := profile.Spec.Packet.IPv6 != nil, "IPv4"
	if ipv6 {
		family = "IPv6"
	}
	own, ok := tx.Address(ipv6)
	if !ok {
		return fmt.Sprintf("%s sends from port %s, which has no %s address for profile %s", member, tx.Name, family, profile.Name)
	}
	peer, ok := rx.Address(ipv6)
	if !ok {
		return fmt.Sprintf("%s sends to port %s, which has no %s address for profile %s", member, rx.Name, family, profile.Name)
	}
	if !tx.Gateway(ipv6).IsValid() && !own.Contains(peer.Addr()) {
		return fmt.Sprintf("%s sends from %s on port %s to %s on port %s, which is another network, and port %s has no %s gateway", member, own, tx.Name, peer.Addr(), rx.Name, tx.Name, family)
	}
	return ""
}

// Sent are the streams of a benchmark that fits the bed: those of the profile's
// pattern, and those with the profile's packet that methods send between the first
// ports.
func Sent(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) []Stream {
	ports, errs := Ports(bed)
	if len(errs) > 0 {
		return nil
	}
	engine, _ := capability.For(bed.Spec.Engine)
	ports = routed(profile, bed, ports, engine)
	p := Plan{Ports: ports, profile: profile}
	sent := streams(profile, ports)
	for _, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok && m.Topology != nil {
			for _, f := range m.Topology.Flows {
				sent = append(sent, p.Between(f[0], f[1]))
			}
		}
	}
	return sent
}
