package policy

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Check returns what a benchmark would send on a bed and the policy in force there does not
// allow. lab is the default policy of the lab; nil is a policy without rules. Profile and
// bed must fit together (plan.Validate). Paths begin with spec for the benchmark, and with
// TrafficProfile and its name for the profile.
func Check(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, lab *v1alpha1.TrafficPolicy) field.ErrorList {
	ports, errs := plan.Ports(bed)
	if len(errs) > 0 {
		return errs
	}
	c := checker{rules: of(bed, lab, ports), bed: bed, ports: ports}
	var problems field.ErrorList
	sent := plan.Sent(b, profile, bed)
	for _, s := range plan.Sections(profile) {
		c.packet = s.Path.Child("packet")
		problems = append(problems, c.tag(s.Spec.Packet.VLAN)...)
		problems = append(problems, c.labels(s.Spec.Packet.MPLS)...)
		problems = append(problems, c.tunnel(s.Spec.Packet.Tunnel)...)
		problems = append(problems, c.customBytes(s.Spec.Packet.Custom)...)
		problems = append(problems, c.ethernet(b, s.TrafficProfile)...)
		problems = append(problems, c.addresses(sent, s)...)
	}
	problems = append(problems, c.workloads(b)...)
	return append(problems, c.announced(profile)...)
}

// checker judges the frames of one benchmark on one bed.
type checker struct {
	rules
	bed   *v1alpha1.TestBed
	ports []plan.Port
	// packet is the path of the headers in the profile.
	packet *field.Path
}

// refused is a problem: what the policy allows, how to keep to it, and what to ask the
// owner of the bed for.
func (c checker) refused(path *field.Path, value any, origin, allows, instead, member string) field.ErrorList {
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf(
		"%s allows %s: %s, or ask the bed's owner to set this in spec.policy: %s", origin, allows, instead, member))}
}

func (c checker) tag(vlan *v1alpha1.VLANTag) field.ErrorList {
	if vlan == nil || c.vlans.free {
		return nil
	}
	path := c.packet.Child("vlan")
	errs := c.vlanID(vlan.ID, path.Child("id"))
	if vlan.Service != nil {
		errs = append(errs, c.vlanID(vlan.Service.ID, path.Child("service", "id"))...)
	}
	return errs
}

func (c checker) vlanID(id int32, path *field.Path) field.ErrorList {
	if within(c.vlans.allowed, id) {
		return nil
	}
	allows, instead := "no VLAN tags", "remove vlan"
	if len(c.vlans.allowed) > 0 {
		allows, instead = "VLANs "+describe(c.vlans.allowed), "use one of those"
	}
	needed := append(slices.Clone(c.vlans.allowed), interval{id, id})
	return c.refused(path, id, c.vlans.origin, allows, instead, "vlans: "+asYAML(needed))
}

func (c checker) labels(mpls *v1alpha1.MPLSStack) field.ErrorList {
	if mpls == nil || c.rules.labels.free {
		return nil
	}
	allowed := c.rules.labels.allowed
	needed := slices.Clone(allowed)
	first := -1
	for i, label := range mpls.Labels {
		if within(needed, label) {
			continue
		}
		needed = append(needed, interval{label, label})
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	allows, instead := "no MPLS labels", "remove mpls"
	if len(allowed) > 0 {
		allows, instead = "labels "+describe(allowed), "use those"
	}
	return c.refused(c.packet.Child("mpls", "labels").Index(first), mpls.Labels[first], c.rules.labels.origin, allows, instead, "mplsLabels: "+asYAML(needed))
}

func (c checker) customBytes(p *v1alpha1.CustomPacket) field.ErrorList {
	if p == nil || c.custom.free || c.custom.allowed {
		return nil
	}
	return c.refused(c.packet.Child("custom"), "custom", c.custom.origin, "no frames of custom bytes", "use ipv4, ipv6 or ethernet", "customBytes: true")
}

func (c checker) tunnel(t *v1alpha1.Tunnel) field.ErrorList {
	if t == nil || c.tunnels.free || c.tunnels.allowed {
		return nil
	}
	return c.refused(c.packet.Child("tunnel"), "tunnel", c.tunnels.origin, "no packets in tunnels", "remove tunnel", "tunnels: true")
}

// ethernet judges frames with hardware addresses that no station has, and flooded ones.
func (c checker) ethernet(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile) field.ErrorList {
	if c.rules.ethernet.free || c.rules.ethernet.allowed {
		return nil
	}
	const allows, member = "no frames with hardware addresses of no station or of all stations", "ethernet: true"
	var problems field.ErrorList
	if profile.Spec.Packet.Ethernet != nil {
		problems = c.refused(c.packet.Child("ethernet"), "ethernet", c.rules.ethernet.origin, allows, "use ipv4 or ipv6", member)
	}
	for i, test := range b.Spec.Tests {
		for _, t := range []struct {
			name  string
			given bool
		}{
			{"addressCaching", test.AddressCaching != nil},
			{"addressLearning", test.AddressLearning != nil},
			{"broadcast", test.Broadcast != nil},
		} {
			if t.given {
				problems = append(problems, c.refused(field.NewPath("spec", "tests").Index(i).Child(t.name), test.Name, c.rules.ethernet.origin, allows, "leave the test out", member)...)
			}
		}
	}
	return problems
}

// addresses judges the source and destination addresses of frames.
func (c checker) addresses(sent []plan.Stream, section plan.Section) field.ErrorList {
	if c.sources.free && c.destinations.free && c.groups.free {
		return nil
	}
	sources, destinations := newSeen(), newSeen()
	var groups []netip.Addr
	for _, s := range sent {
		h := s.Headers
		if !h.SrcIP.IsValid() || section.Flow != nil && s.Flow != section.Flow.Name {
			continue
		}
		sources.add(h.SrcIP, h.SrcIPCount)
		switch {
		case s.Networks != nil:
			// They may be sent to where they may be announced.
		case h.DstIP.IsMulticast():
			groups = append(groups, h.DstIP)
		default:
			destinations.add(h.DstIP, h.DstIPCount)
		}
	}
	problems := c.hosts("sends from", "sourceAddresses", c.sources, sources)
	problems = append(problems, c.hosts("is sent frames at", "destinationAddresses", c.destinations, destinations)...)
	return append(problems, c.toGroups(section, groups)...)
}

// hosts judges the hosts behind ports; one problem is enough for all of them.
func (c checker) hosts(does, member string, r rule[[]v1alpha1.AddressPrefix], used seen) field.ErrorList {
	if r.free {
		return nil
	}
	for _, at := range used.order {
		if holdsAll(r.allowed, at, used.count[at]) {
			continue
		}
		for i := range used.count[at] {
			host := traffic.Above(at, i)
			if Holds(r.allowed, host) {
				continue
			}
			port, network := c.portOf(at)
			path := c.packet.Child("ipv4")
			if host.Is6() {
				path = c.packet.Child("ipv6")
			}
			instead := "use a bed with addresses that are allowed"
			if i > 0 {
				path, instead = path.Child("hostsPerPort"), fmt.Sprintf("give at most %d", i)
			}
			allows := fmt.Sprintf("%s, and port %s %s %s", listedOrNone(member, r.allowed), port, does, host)
			needed := append(slices.Clone(r.allowed), network)
			var value any = host.String()
			if i > 0 {
				value = used.count[at]
			}
			return c.refused(path, value, r.origin, allows, instead, fmt.Sprintf("%s: [%s]", member, listed(needed)))
		}
	}
	return nil
}

// toGroups judges the multicast groups of a pattern, which are given in rising order.
func (c checker) toGroups(section plan.Section, used []netip.Addr) field.ErrorList {
	member, _, _ := plan.MulticastPattern(section.Spec.Pattern)
	return c.groupsAt(section.Path.Child("pattern", member, "firstGroup"), used, "use a pattern of unicast")
}

// groupsAt judges multicast groups in rising order, the first of which a field has. Without any group, instead is the remedy.
func (c checker) groupsAt(path *field.Path, used []netip.Addr, instead string) field.ErrorList {
	if c.groups.free {
		return nil
	}
	i := slices.IndexFunc(used, func(g netip.Addr) bool { return !Holds(c.groups.allowed, g) })
	if i < 0 {
		return nil
	}
	allows := "no multicast groups"
	if len(c.groups.allowed) > 0 {
		allows, instead = "the groups "+listed(c.groups.allowed)+", and "+used[i].String()+" is outside", "give groups within"
	}
	needed := append(slices.Clone(c.groups.allowed), v1alpha1.AddressPrefix(covering(used[i], used[len(used)-1]).String()))
	return c.refused(path, used[0].String(), c.groups.origin, allows, instead, fmt.Sprintf("groups: [%s]", listed(needed)))
}

// portOf is the port that has an address, and its network.
func (c checker) portOf(a netip.Addr) (name string, network v1alpha1.AddressPrefix) {
	for _, p := range c.ports {
		if own, ok := p.Address(a.Is6()); ok && own.Addr() == a {
			return p.Name, v1alpha1.AddressPrefix(own.Masked().String())
		}
	}
	return "", v1alpha1.AddressPrefix(netip.PrefixFrom(a, a.BitLen()).String())
}

func listedOrNone(member string, prefixes []v1alpha1.AddressPrefix) string {
	if len(prefixes) == 0 {
		return "no " + member
	}
	return "the " + member + " " + listed(prefixes)
}

// covering is the smallest network that has both addresses.
func covering(a, b netip.Addr) netip.Prefix {
	for bits := a.BitLen(); bits > 0; bits-- {
		if p := netip.PrefixFrom(a, bits).Masked(); p.Contains(b) {
			return p
		}
	}
	return netip.PrefixFrom(a, 0).Masked()
}

// seen are ranges of addresses, each once, in the order of their first use.
type seen struct {
	order []netip.Addr
	count map[netip.Addr]uint32
}

func newSeen() seen { return seen{count: map[netip.Addr]uint32{}} }

func (s *seen) add(first netip.Addr, count uint32) {
	if _, met := s.count[first]; !met {
		s.order = append(s.order, first)
	}
	s.count[first] = max(s.count[first], count, 1)
}
