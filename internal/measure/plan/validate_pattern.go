package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/traffic"
)

// patternsGiven counts the members of the union.
func patternsGiven(p v1alpha1.Pattern) int {
	given := 0
	for _, is := range []bool{p.Pairs != nil, p.FullMesh != nil, p.PartialMesh != nil, p.FanOut != nil, p.NToN != nil, p.MixedClass != nil} {
		if is {
			given++
		}
	}
	return given
}

// MulticastPattern reports whether a pattern sends to groups, and returns the name of its
// member and its first group.
func MulticastPattern(p v1alpha1.Pattern) (member string, first v1alpha1.GroupAddress, is bool) {
	switch {
	case p.FanOut != nil:
		return "fanOut", p.FanOut.FirstGroup, true
	case p.NToN != nil:
		return "nToN", p.NToN.FirstGroup, true
	case p.MixedClass != nil:
		return "mixedClass", p.MixedClass.FirstGroup, true
	}
	return "", "", false
}

// validateProfilePattern reports what is wrong with a pattern without a bed.
func validateProfilePattern(spec v1alpha1.TrafficProfileSpec, path *field.Path) field.ErrorList {
	if patternsGiven(spec.Pattern) != 1 {
		return field.ErrorList{field.Required(path, "give exactly one pattern of senders and receivers: pairs, fullMesh, partialMesh, fanOut, nToN, mixedClass")}
	}
	var errs field.ErrorList
	if p := spec.Pattern.PartialMesh; p != nil {
		path := path.Child("partialMesh")
		if (len(p.Senders) > 0) == (p.SenderCount != nil) {
			errs = append(errs, field.Required(path, "give the sending side by exactly one of senders and senderCount"))
		}
		if len(p.Receivers) > 0 && p.ReceiverCount != nil {
			errs = append(errs, field.Required(path, "give the other side by at most one of receivers and receiverCount"))
		}
	}
	if member, group, is := MulticastPattern(spec.Pattern); is {
		path := path.Child(member)
		if spec.Packet.Custom != nil {
			errs = append(errs, field.Invalid(path, "custom", "multicast groups are IP addresses, and packet is custom, whose bytes are the same for all groups: give packet ipv4 or ipv6, or another pattern"))
		}
		if spec.Packet.Ethernet != nil {
			errs = append(errs, field.Invalid(path, "ethernet", "multicast groups are IP addresses, and packet is ethernet: give packet ipv4 or ipv6, or another pattern"))
		}
		errs = append(errs, validateGroup(group, spec.Packet.IPv6 != nil, path.Child("firstGroup"))...)
	}
	if p := spec.Pattern.NToN; p != nil && p.Stagger != nil && p.Stagger.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("nToN", "stagger"), p.Stagger.Duration.String(), "give 0s to 100ms"))
	}
	return errs
}

// linkLocal are the groups of IPv4 that no device forwards to other networks, and
// that bridges flood (RFC 4541 section 2.1.2).
var linkLocal = netip.MustParsePrefix("224.0.0.0/24")

func validateGroup(given v1alpha1.GroupAddress, ipv6 bool, path *field.Path) field.ErrorList {
	if given == "" {
		return nil
	}
	group, err := netip.ParseAddr(string(given))
	switch {
	case err != nil || !group.IsMulticast() || group.Zone() != "":
		return field.ErrorList{field.Invalid(path, given, "give a multicast group, such as 225.1.1.1 or ff1e::1")}
	case group.Is6() != ipv6:
		family := "ipv4"
		if ipv6 {
			family = "ipv6"
		}
		return field.ErrorList{field.Invalid(path, given, fmt.Sprintf("packet is %s: give a group of that family, or leave firstGroup out", family))}
	case linkLocal.Contains(group):
		return field.ErrorList{field.Invalid(path, given, "groups of 224.0.0.0/24 are never forwarded: give one of 224.0.1.0 to 239.255.255.255")}
	case ipv6 && group.As16()[1]&0xf < 3:
		return field.ErrorList{field.Invalid(path, given, "the group's scope is the interface or the link, and is never forwarded: give a wider scope, such as ff1e::1")}
	}
	return nil
}

// validatePattern refuses patterns that the bed's ports or the engine cannot
// make.
func validatePattern(profile Section, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	path := profile.Path.Child("pattern")
	pattern := profile.Spec.Pattern
	var errs field.ErrorList
	switch {
	case pattern.Pairs != nil && (len(ports) < 2 || len(ports)%2 != 0):
		errs = append(errs, field.Invalid(path.Child("pairs"), len(ports),
			fmt.Sprintf("test bed %s has %d ports, and pairs needs an even number of at least 2: add or remove a port, or choose another bed", bed.Name, len(ports))))
	case len(ports) < 2:
		errs = append(errs, field.Invalid(path, len(ports),
			fmt.Sprintf("test bed %s has %d ports, and the pattern needs at least 2: add a port, or choose another bed", bed.Name, len(ports))))
	case device.Of(bed.Spec.Device).Absent && pattern.Pairs == nil && len(ports) > 2:
		errs = append(errs, field.Invalid(path, len(ports),
			fmt.Sprintf("the %d ports of test bed %s are cabled to each other two by two, so that only pairs reach each other: use the pattern pairs", len(ports), bed.Name)))
	case pattern.PartialMesh != nil:
		errs = append(errs, validateSides(*pattern.PartialMesh, bed, ports, path.Child("partialMesh"))...)
	case pattern.FanOut != nil:
		p := pattern.FanOut
		errs = append(errs, validateGroups(profile, p.Sender, p.Groups, p.FirstGroup, 0, bed, ports, engine, path.Child("fanOut"))...)
	case pattern.MixedClass != nil:
		p := pattern.MixedClass
		errs = append(errs, validateGroups(profile, p.Sender, p.Groups, p.FirstGroup, len(ports)-1, bed, ports, engine, path.Child("mixedClass"))...)
	case pattern.NToN != nil:
		errs = append(errs, validateNToN(profile, bed, ports, path.Child("nToN"))...)
	}
	if member, _, is := MulticastPattern(pattern); is && !engine.Multicast {
		errs = append(errs, field.Invalid(path.Child(member), bed.Spec.Engine.Kind,
			fmt.Sprintf("engine %s of test bed %s cannot join multicast groups: choose a bed with another engine, or another pattern", bed.Spec.Engine.Kind, bed.Name)))
	}
	if len(errs) > 0 {
		return errs
	}
	n := len(profile.streams(ports))
	if n > engine.MaxStreams && profile.Spec.Routing != nil {
		return append(errs, field.Invalid(profile.Path.Child("routing", "routes"), n, fmt.Sprintf(
			"the pattern to the networks of these routes makes %d streams on the %s, and engine %s takes at most %d: announce fewer networks, single addresses (/32 or /128) that follow each other, or use a bed with fewer ports",
			n, onBed(ports, bed), bed.Spec.Engine.Kind, engine.MaxStreams)))
	}
	if n > engine.MaxStreams {
		errs = append(errs, field.Invalid(path, n,
			fmt.Sprintf("the pattern makes %d streams on the %s, and engine %s takes at most %d: use a bed with fewer ports", n, onBed(ports, bed), bed.Spec.Engine.Kind, engine.MaxStreams)))
	}
	return errs
}

// validateSides refuses sides of a partial mesh that the bed does not have, or
// that share a port.
func validateSides(p v1alpha1.PartialMeshPattern, bed *v1alpha1.TestBed, ports []Port, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := map[string]string{}
	for _, side := range []struct {
		field string
		names []string
	}{{"senders", p.Senders}, {"receivers", p.Receivers}} {
		for i, name := range side.names {
			at := path.Child(side.field).Index(i)
			if err := knownPort(name, bed, ports, at); err != nil {
				errs = append(errs, err)
			} else if before, ok := taken[name]; ok {
				errs = append(errs, field.Invalid(at, name, fmt.Sprintf("port %s stands in %s already: put every port on one side, and once", name, before)))
			}
			taken[name] = side.field
		}
	}
	if len(errs) > 0 {
		return errs
	}
	senders, receivers := sides(p, ports)
	if p.SenderCount != nil {
		at, n := path.Child("senderCount"), int(*p.SenderCount)
		if n < 1 || n >= len(ports) {
			return field.ErrorList{field.Invalid(at, n, fmt.Sprintf("test bed %s has %d ports, of which at least one must be on the other side: give 1 to %d", bed.Name, len(ports), len(ports)-1))}
		}
		for i, rx := range receivers {
			if slices.Contains(senders, rx) {
				errs = append(errs, field.Invalid(path.Child("receivers").Index(i), ports[rx].Name, fmt.Sprintf("port %s is one of the first %d of test bed %s, which send: name another port, or lower senderCount", ports[rx].Name, n, bed.Name)))
			}
		}
	}
	others := len(ports) - len(senders)
	switch {
	case p.ReceiverCount != nil && (*p.ReceiverCount < 1 || int(*p.ReceiverCount) > others):
		errs = append(errs, field.Invalid(path.Child("receiverCount"), *p.ReceiverCount, fmt.Sprintf("%d of the %d ports of test bed %s do not send: give 1 to %d, or fewer senders", others, len(ports), bed.Name, others)))
	case len(receivers) == 0:
		errs = append(errs, field.Invalid(path.Child("senders"), len(senders), fmt.Sprintf("all %d ports of test bed %s send, so that none is left for the other side: name fewer senders", len(ports), bed.Name)))
	}
	return errs
}

// knownPort refuses the name of a port that the bed does not have.
func knownPort(name string, bed *v1alpha1.TestBed, ports []Port, path *field.Path) *field.Error {
	if slices.ContainsFunc(ports, func(p Port) bool { return p.Name == name }) {
		return nil
	}
	return field.Invalid(path, name, fmt.Sprintf("test bed %s has no port of this name: its %d ports are %s to %s", bed.Name, len(ports), ports[0].Name, ports[len(ports)-1].Name))
}

// validateGroups refuses a sender that the bed does not have, and more groups than the
// engine can count when the pattern has other streams besides.
func validateGroups(profile Section, sender string, groups int32, first v1alpha1.GroupAddress, others int, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities, path *field.Path) field.ErrorList {
	if sender != "" {
		if err := knownPort(sender, bed, ports, path.Child("sender")); err != nil {
			return field.ErrorList{err}
		}
	}
	if most := engine.MaxStreams - others; groups < 0 || int(groups) > most {
		return field.ErrorList{field.Invalid(path.Child("groups"), groups,
			fmt.Sprintf("every group is a stream, and engine %s takes at most %d streams: give 1 to %d groups", bed.Spec.Engine.Kind, engine.MaxStreams, most))}
	}
	return validateLastGroup(first, int(groups), profile.Spec.Packet.IPv6 != nil, path.Child("firstGroup"))
}

// longestStagger is the maximum time by which the last port of an N-to-N pattern may begin
// after the first: far less than the shortest trial.
const longestStagger = 100 * time.Millisecond

func validateNToN(profile Section, bed *v1alpha1.TestBed, ports []Port, path *field.Path) field.ErrorList {
	p := *profile.Spec.Pattern.NToN
	steps := time.Duration(len(ports) - 1)
	if last := steps * Stagger(p); last > longestStagger {
		return field.ErrorList{field.Invalid(path.Child("stagger"), Stagger(p).String(),
			fmt.Sprintf("the last of the %d ports of test bed %s would begin %s late: give at most %s", len(ports), bed.Name, last, longestStagger/steps))}
	}
	return validateLastGroup(p.FirstGroup, len(ports), profile.Spec.Packet.IPv6 != nil, path.Child("firstGroup"))
}

// validateLastGroup refuses groups that count up beyond the last one.
func validateLastGroup(given v1alpha1.GroupAddress, count int, ipv6 bool, path *field.Path) field.ErrorList {
	last := traffic.Above(FirstGroup(given, ipv6), uint32(count-1))
	if last.IsValid() && last.IsMulticast() {
		return nil
	}
	return field.ErrorList{field.Invalid(path, given, fmt.Sprintf("%d groups from here up go beyond the last multicast address: give a lower group", count))}
}
