package plan

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// First groups where a profile names none. That of IPv6 is transient and global;
// its last 32 bits are of those that are kept for dynamic use (RFC 3307 section
// 4.3), so that no hardware address of a known group is met.
var (
	firstGroup4 = netip.MustParseAddr("225.1.1.1")
	firstGroup6 = netip.MustParseAddr("ff1e::2001:2:8000:1")
)

// FirstGroup is the first group of a pattern, which was validated.
func FirstGroup(given v1alpha1.GroupAddress, ipv6 bool) netip.Addr {
	if first, err := netip.ParseAddr(string(given)); err == nil {
		return first
	}
	if ipv6 {
		return firstGroup6
	}
	return firstGroup4
}

// Multicast reports whether frames go to many receivers.
func (p Plan) Multicast() bool {
	return slices.ContainsFunc(p.Streams, func(s Stream) bool { return s.Headers.DstIP.IsMulticast() })
}

// Memberships are the groups that every receiving port has to join, those that
// follow each other at once.
func (p Plan) Memberships() []traffic.Membership {
	var all []traffic.Membership
	last := map[int]int{} // by port, the membership that may go on
	for _, s := range p.Streams {
		group := s.Headers.DstIP
		if !group.IsMulticast() {
			continue
		}
		for _, port := range s.Rx {
			if i, ok := last[port]; ok && all[i].End() == group {
				all[i].Count++
				continue
			}
			last[port] = len(all)
			all = append(all, traffic.Membership{Port: p.Ports[port].Name, Group: group, Count: 1})
		}
	}
	return all
}

// sourceSpecific are the groups that are joined for single senders only (RFC 4607 section
// 1). Routers ignore memberships for any sender of them.
var sourceSpecific = netip.MustParsePrefix("232.0.0.0/8")

// RoutesMulticast reports whether the device of a bed routes multicast between the ports.
func RoutesMulticast(bed *v1alpha1.TestBed) bool {
	return bed.Spec.Routing != nil && bed.Spec.Routing.PIM != nil
}

// RendezvousPoint returns the rendezvous point of all groups on a bed whose device routes
// multicast. The default is the IPv4 gateway of the bed's first port.
func RendezvousPoint(bed *v1alpha1.TestBed) (netip.Addr, field.ErrorList) {
	ports, errs := Ports(bed)
	if len(errs) > 0 {
		return netip.Addr{}, errs
	}
	for i, p := range ports {
		if !p.Gateway(false).IsValid() {
			return netip.Addr{}, field.ErrorList{field.Required(bedPath(bed).Child("ports").Index(i).Child("gateways"), fmt.Sprintf(
				"the device routes multicast (routing.pim), and port %s has no IPv4 gateway, which is the device's address there: give the port one", p.Name))}
		}
	}
	given := bed.Spec.Routing.PIM.RendezvousPoint
	if given == "" {
		return ports[0].Gateway(false), nil
	}
	path := bedPath(bed).Child("routing", "pim", "rendezvousPoint")
	point, err := netip.ParseAddr(given)
	if err != nil || !point.Is4() || point.IsMulticast() || point.IsUnspecified() {
		return netip.Addr{}, field.ErrorList{field.Invalid(path, given, "give a unicast IPv4 address, such as 198.18.1.1")}
	}
	for _, p := range ports {
		if own, _ := p.Address(false); own.Addr() == point {
			return netip.Addr{}, field.ErrorList{field.Invalid(path, given, fmt.Sprintf("this is the address of port %s, which is no router: give an address of the device, such as %s", p.Name, p.Gateway(false)))}
		}
	}
	return point, nil
}

// validatePIM refuses groups that the device does not route: PIM of a bed is for groups of
// IPv4 that are joined for any sender.
func validatePIM(profile Section, bed *v1alpha1.TestBed, ports []Port) field.ErrorList {
	member, _, is := MulticastPattern(profile.Spec.Pattern)
	if !is || !RoutesMulticast(bed) {
		return nil
	}
	if profile.Spec.Packet.IPv6 != nil {
		return field.ErrorList{field.Invalid(profile.Path.Child("packet"), "ipv6", fmt.Sprintf(
			"the device of test bed %s routes multicast of IPv4 (routing.pim): give packet ipv4, or choose another bed", bed.Name))}
	}
	for _, f := range flows(profile.TrafficProfile, ports) {
		if f.group.IsValid() && sourceSpecific.Contains(f.group) {
			return field.ErrorList{field.Invalid(profile.Path.Child("pattern", member, "firstGroup"), f.group.String(), fmt.Sprintf(
				"groups of %s are joined for single senders (RFC 4607), and ports join groups for any sender: give groups outside of it", sourceSpecific))}
		}
	}
	return nil
}
