package report

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// traffic describes the profile in one line.
func (d *Document) traffic() string {
	p := d.Profile
	if p == nil {
		return ""
	}
	if len(p.Flows) > 0 {
		var flows []string
		for _, f := range p.Flows {
			flows = append(flows, flowText(f))
		}
		for _, m := range p.FrameMixes {
			flows = append(flows, mixText(m))
		}
		return strings.Join(flows, "; ")
	}
	parts := []string{packetName(p.Packet)}
	pattern, own := patternText(p.Pattern, p.Packet.IPv6 != nil), ownTopologies(d.Spec.Tests)
	switch {
	case len(own) > 0 && len(own) == len(d.Spec.Tests):
		pattern = "between the ports that are named under trials"
	case len(own) > 0:
		pattern += fmt.Sprintf(" (test %s: between the ports that are named under trials)", strings.Join(own, ", "))
	}
	if pattern != "" {
		parts = append(parts, pattern)
	}
	parts = append(parts, headerTexts(p.Packet)...)
	for _, m := range p.FrameMixes {
		parts = append(parts, mixText(m))
	}
	return strings.Join(append([]string{strings.Join(parts, ", ")}, routesTexts(p.Routing)...), "; ")
}

// frames describes the profile without routes to which no frames are sent: they are a condition of the
// device, and no traffic.
func (d *Document) frames() string {
	if d.Profile == nil || d.Profile.Routing == nil {
		return d.traffic()
	}
	sent := *d
	sent.Profile = d.Profile.DeepCopy()
	sent.Profile.Routing.Routes = slices.DeleteFunc(sent.Profile.Routing.Routes, func(r v1alpha1.RouteSet) bool { return r.MRT != nil || r.Traffic != nil && !*r.Traffic })
	return sent.traffic()
}

// routesTexts describes what the tester announces: "routes networks: 8 by each session from
// 198.18.128.0/24".
func routesTexts(r *v1alpha1.ProfileRouting) []string {
	if r == nil {
		return nil
	}
	var texts []string
	for _, set := range r.Routes {
		same := ""
		if set.Shared != nil && *set.Shared {
			same = "the same "
		}
		if set.MRT != nil {
			texts = append(texts, fmt.Sprintf("routes %s: those of the dump %s, to which no frames are sent", set.Name, set.MRT.File))
			continue
		}
		text := fmt.Sprintf("routes %s: %s%s by each session from %s", set.Name, same, traffic.Grouped(int64(set.Count)), set.First)
		if set.Traffic != nil && !*set.Traffic {
			text += ", to which no frames are sent"
		}
		texts = append(texts, text)
	}
	return texts
}

// flowText describes a flow: "flow voice, 30% of the load, 128 B: IPv4/UDP, port pairs in
// one direction".
func flowText(f v1alpha1.TrafficFlow) string {
	size := ""
	switch {
	case f.FrameSize != nil:
		size = ", " + v1alpha1.SizeName(*f.FrameSize, "")
	case f.FrameMix != nil:
		size = ", " + mixText(*f.FrameMix)
	}
	parts := append([]string{packetName(f.Packet), patternText(f.Pattern, f.Packet.IPv6 != nil)}, headerTexts(f.Packet)...)
	return fmt.Sprintf("flow %s, %s of the load%s: %s", f.Name, f.Share, size, strings.Join(parts, ", "))
}

// ownTopologies are the tests whose frames do not go where the pattern says.
func ownTopologies(tests []v1alpha1.Test) []string {
	var names []string
	for _, test := range tests {
		if own, ok := method.DescribeTest(test); ok && own.Topology != nil {
			names = append(names, test.Name)
		}
	}
	return names
}

func packetName(p v1alpha1.Packet) string {
	switch {
	case p.Ethernet != nil:
		return "Ethernet without network layer"
	case p.Custom != nil:
		custom, _ := frame.CustomBytes(*p.Custom)
		return fmt.Sprintf("%d custom bytes %s", len(custom), abbreviated(custom))
	case p.IPv6 != nil:
		return "IPv6/UDP"
	}
	return "IPv4/UDP"
}

// abbreviated are bytes in hexadecimal digits, of many the first.
func abbreviated(b []byte) string {
	const most = 18
	if len(b) <= most {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%x...", b[:most])
}

func patternText(p v1alpha1.Pattern, ipv6 bool) string {
	switch {
	case p.Pairs != nil:
		return "port pairs " + directions(p.Pairs.Bidirectional == nil || *p.Pairs.Bidirectional)
	case p.FullMesh != nil:
		return "full mesh (RFC 2889 section 5.1)"
	case p.PartialMesh != nil:
		return sidesText(*p.PartialMesh) + " " + directions(p.PartialMesh.Bidirectional != nil && *p.PartialMesh.Bidirectional)
	case p.FanOut != nil:
		sender := cmp.Or(p.FanOut.Sender, "the first port")
		return fmt.Sprintf("multicast from %s to all others, %s", sender, groupsText(p.FanOut.Groups, plan.FirstGroup(p.FanOut.FirstGroup, ipv6)))
	case p.MixedClass != nil:
		m := p.MixedClass
		return fmt.Sprintf("multicast and unicast %d:%d from %s to all others (RFC 3918 section 4.1), %s",
			m.MulticastFrames, m.UnicastFrames, cmp.Or(m.Sender, "the first port"), groupsText(m.Groups, plan.FirstGroup(m.FirstGroup, ipv6)))
	case p.NToN != nil:
		return fmt.Sprintf("multicast from every port to all others, one group each from %s up, each port %s after the one before", plan.FirstGroup(p.NToN.FirstGroup, ipv6), plan.Stagger(*p.NToN))
	}
	return ""
}

func directions(both bool) string {
	if both {
		return "in both directions"
	}
	return "in one direction"
}

func groupsText(n int32, first netip.Addr) string {
	if n == 1 {
		return "group " + first.String()
	}
	return fmt.Sprintf("%s groups from %s up", layout.Group(int64(n)), first)
}

func sidesText(p v1alpha1.PartialMeshPattern) string {
	side := func(names []string, count *int32, first, other string) string {
		switch {
		case len(names) > 0:
			return strings.Join(names, ", ")
		case count != nil:
			return fmt.Sprintf("%s %d ports", first, *count)
		}
		return other
	}
	return fmt.Sprintf("partial mesh (RFC 2889) from %s to %s",
		side(p.Senders, p.SenderCount, "the first", "no port"), side(p.Receivers, p.ReceiverCount, "the next", "all other ports"))
}

// headerTexts describe what stands in the headers beyond the defaults.
func headerTexts(p v1alpha1.Packet) []string {
	var parts []string
	hosts := int32(0)
	for _, ip := range []*v1alpha1.IPPacket{p.IPv4, p.IPv6} {
		if ip != nil {
			hosts = ip.HostsPerPort
		}
	}
	if p.Ethernet != nil {
		hosts = p.Ethernet.HostsPerPort
	}
	if hosts > 1 {
		parts = append(parts, fmt.Sprintf("%d hosts per port", hosts))
	}
	if udp := p.UDP; udp != nil {
		if r := udp.SourcePorts; r != nil {
			parts = append(parts, "from UDP "+portRange(*r))
		}
		if r := udp.DestinationPorts; r != nil {
			parts = append(parts, "to UDP "+portRange(*r))
		}
	}
	if r := p.RoCEv2; r != nil {
		source, _ := p.UDPPorts()
		h := frame.RoCEOf(r)
		parts = append(parts, fmt.Sprintf("RoCEv2 %s, partition key 0x%04x, destination queue pair %d, from UDP %s", cmp.Or(r.Opcode, v1alpha1.RCSendOnly), h.PartitionKey, h.DestinationQP, portRange(source)))
		if c := h.CNP; c.Answers {
			parts = append(parts, fmt.Sprintf("marks answered by CNPs at least %d µs apart", c.Interval.Microseconds()))
		}
	}
	if v := p.VLAN; v != nil {
		parts = append(parts, fmt.Sprintf("VLAN %d priority %d", v.ID, v.Priority))
		if s := v.Service; s != nil {
			parts = append(parts, fmt.Sprintf("service VLAN %d priority %d", s.ID, s.Priority))
		}
	}
	if t := p.Tunnel; t != nil {
		parts = append(parts, tunnel(*t))
	}
	if m := p.MPLS; m != nil {
		parts = append(parts, "MPLS labels "+strings.Trim(fmt.Sprint(m.Labels), "[]"))
	}
	if p.DSCP != nil {
		parts = append(parts, fmt.Sprintf("DSCP %d", *p.DSCP))
	}
	if p.IPPrecedence != nil {
		parts = append(parts, fmt.Sprintf("IP precedence %d", *p.IPPrecedence))
	}
	if p.ECN != "" {
		parts = append(parts, "ECN "+string(p.ECN))
	}
	if p.Payload != "" && p.Payload != v1alpha1.PayloadZeros {
		parts = append(parts, "payload "+strings.ToLower(string(p.Payload)))
	}
	return parts
}

func tunnel(t v1alpha1.Tunnel) string {
	switch {
	case t.VXLAN != nil:
		return fmt.Sprintf("in VXLAN, VNI %d", t.VXLAN.VNI)
	case t.GENEVE != nil:
		return fmt.Sprintf("in GENEVE, VNI %d", t.GENEVE.VNI)
	case t.GTPU != nil:
		return fmt.Sprintf("in GTP-U, TEID %d", t.GTPU.TEID)
	}
	return "in GRE"
}

func portRange(r v1alpha1.PortRange) string {
	if r.Count <= 1 {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.First+r.Count-1)
}
