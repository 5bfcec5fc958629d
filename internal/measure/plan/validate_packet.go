package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// validatePacket reports what is wrong with the headers of a profile for
// themselves.
func validatePacket(p v1alpha1.Packet, path *field.Path) field.ErrorList {
	given := 0
	for _, is := range []bool{p.IPv4 != nil, p.IPv6 != nil, p.Ethernet != nil, p.Custom != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return field.ErrorList{field.Required(path, "give exactly one of ipv4, ipv6, ethernet and custom")}
	}
	var errs field.ErrorList
	if p.Ethernet != nil {
		for _, other := range []struct {
			name  string
			given bool
		}{{"udp", p.UDP != nil}, {"tunnel", p.Tunnel != nil}, {"dscp", p.DSCP != nil}, {"ipPrecedence", p.IPPrecedence != nil}, {"ecn", p.ECN != ""}, {"rocev2", p.RoCEv2 != nil}} {
			if other.given {
				errs = append(errs, field.Forbidden(path.Child(other.name), "frames of ethernet have no network layer: remove it, or give ipv4 or ipv6"))
			}
		}
	}
	if p.Custom != nil {
		errs = append(errs, validateCustom(p, path)...)
	}
	if p.DSCP != nil && p.IPPrecedence != nil {
		errs = append(errs, field.Invalid(path.Child("ipPrecedence"), *p.IPPrecedence, fmt.Sprintf("dscp is %d, which are the same bits of the header: give one of them", *p.DSCP)))
	}
	errs = append(errs, validateBetween(p.DSCP, 0, 63, path.Child("dscp"))...)
	errs = append(errs, validateBetween(p.IPPrecedence, 0, 7, path.Child("ipPrecedence"))...)
	errs = append(errs, validateECN(p, path)...)
	errs = append(errs, validateRoCE(p, path)...)
	errs = append(errs, validateTag(p.VLAN, path.Child("vlan"))...)
	errs = append(errs, validateTunnel(p.Tunnel, path.Child("tunnel"))...)
	if all := v1alpha1.PayloadPatterns(); p.Payload != "" && !slices.Contains(all, p.Payload) {
		errs = append(errs, field.NotSupported(path.Child("payload"), p.Payload, all))
	}
	if m := p.MPLS; m != nil {
		labels := path.Child("mpls", "labels")
		if n := len(m.Labels); n < 1 || n > 4 {
			errs = append(errs, field.Invalid(labels, n, "give a stack of 1 to 4 labels"))
		}
		for i, label := range m.Labels {
			errs = append(errs, validateBetween(&label, 16, 1<<20-1, labels.Index(i))...)
		}
	}
	if udp := p.UDP; udp != nil {
		errs = append(errs, validatePortRange(udp.SourcePorts, path.Child("udp", "sourcePorts"))...)
		errs = append(errs, validatePortRange(udp.DestinationPorts, path.Child("udp", "destinationPorts"))...)
	}
	return errs
}

// validateTag reports what is wrong with a tag, and with the one in front of it.
func validateTag(v *v1alpha1.VLANTag, path *field.Path) field.ErrorList {
	if v == nil {
		return nil
	}
	errs := validateBetween(&v.ID, 1, 4094, path.Child("id"))
	errs = append(errs, validateBetween(&v.Priority, 0, 7, path.Child("priority"))...)
	if s := v.Service; s != nil {
		errs = append(errs, validateBetween(&s.ID, 1, 4094, path.Child("service", "id"))...)
		errs = append(errs, validateBetween(&s.Priority, 0, 7, path.Child("service", "priority"))...)
	}
	return errs
}

// validateBetween refuses a number outside of what is allowed; nil is not given.
func validateBetween[N int32 | int64](n *N, lowest, highest N, path *field.Path) field.ErrorList {
	if n == nil || *n >= lowest && *n <= highest {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *n, fmt.Sprintf("give %d to %d", lowest, highest))}
}

func validatePortRange(r *v1alpha1.PortRange, path *field.Path) field.ErrorList {
	const end = 65536
	switch {
	case r == nil:
		return nil
	case r.First < 1 || r.First >= end:
		return field.ErrorList{field.Invalid(path.Child("first"), r.First, "give a UDP port of 1 to 65535")}
	case r.Count < 0 || r.First+r.Count > end:
		return field.ErrorList{field.Invalid(path.Child("count"), r.Count, fmt.Sprintf("ports %d up can be at most %d: lower first or count", r.First, end-r.First))}
	}
	return nil
}

// validateLabels refuses labelled frames that the engine cannot send.
func validateLabels(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	m := profile.Spec.Packet.MPLS
	if m == nil || engine.MPLS {
		return nil
	}
	return field.ErrorList{field.Invalid(profile.Path.Child("packet", "mpls", "labels"), m.Labels,
		fmt.Sprintf("engine %s of test bed %s does not send labelled frames: choose a bed with another engine, or remove mpls", bed.Spec.Engine.Kind, bed.Name))}
}

// validateCustom reports what is wrong with custom bytes.
func validateCustom(p v1alpha1.Packet, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, other := range []struct {
		name  string
		given bool
	}{{"udp", p.UDP != nil}, {"tunnel", p.Tunnel != nil}, {"mpls", p.MPLS != nil}, {"dscp", p.DSCP != nil}, {"ipPrecedence", p.IPPrecedence != nil}, {"ecn", p.ECN != ""}, {"rocev2", p.RoCEv2 != nil}} {
		if other.given {
			errs = append(errs, field.Forbidden(path.Child(other.name), "the bytes of custom are sent as they are: remove it, and write it into hex"))
		}
	}
	if _, err := frame.CustomBytes(*p.Custom); err != nil {
		errs = append(errs, field.Invalid(path.Child("custom", "hex"), shortened(p.Custom.Hex), err.Error()))
	}
	return errs
}

// shortened is the beginning of a text for a message.
func shortened(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// validateCustomOn refuses custom bytes that the engine does not send.
func validateCustomOn(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	if profile.Spec.Packet.Custom == nil || engine.CustomBytes {
		return nil
	}
	return field.ErrorList{field.Forbidden(profile.Path.Child("packet", "custom"), fmt.Sprintf(
		"engine %s of test bed %s counts frames by a mark in their IP header, for which custom bytes may have no place: give ipv4 or ipv6, or choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name))}
}
