package plan

import (
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// flow is a sender and its receivers, as indexes of the ports.
type flow struct {
	tx int
	rx []int
	// part is the divisor of the sender's line rate for this flow, and times the multiplier;
	// 0 means 1.
	part, times int64
	// delay is the time by which the flow begins after the others.
	delay time.Duration
	// group that it is sent to; invalid for unicast.
	group netip.Addr
}

// flows of a profile's pattern, which fits the ports.
func flows(profile *v1alpha1.TrafficProfile, ports []Port) []flow {
	ipv6 := profile.Spec.Packet.IPv6 != nil
	switch p := profile.Spec.Pattern; {
	case p.Pairs != nil:
		return pairs(*p.Pairs, len(ports))
	case p.FullMesh != nil:
		return fullMesh(len(ports))
	case p.PartialMesh != nil:
		senders, receivers := sides(*p.PartialMesh, ports)
		return partialMesh(senders, receivers, p.PartialMesh.Bidirectional != nil && *p.PartialMesh.Bidirectional)
	case p.FanOut != nil:
		return fanOut(namedPort(p.FanOut.Sender, ports), len(ports), int(p.FanOut.Groups), FirstGroup(p.FanOut.FirstGroup, ipv6))
	case p.MixedClass != nil:
		return mixedClass(*p.MixedClass, namedPort(p.MixedClass.Sender, ports), len(ports), FirstGroup(p.MixedClass.FirstGroup, ipv6))
	case p.NToN != nil:
		return nToN(len(ports), FirstGroup(p.NToN.FirstGroup, ipv6), Stagger(*p.NToN))
	}
	return nil
}

// pairs joins the first port with the second, the third with the fourth.
func pairs(p v1alpha1.PairsPattern, ports int) []flow {
	var flows []flow
	for i := 0; i+1 < ports; i += 2 {
		flows = append(flows, flow{tx: i, rx: []int{i + 1}, part: 1})
		if p.Bidirectional == nil || *p.Bidirectional {
			flows = append(flows, flow{tx: i + 1, rx: []int{i}, part: 1})
		}
	}
	return flows
}

// fullMesh lets every port send to all others (RFC 2889 section 5.1). A port's
// flows stand in the order of its turns: an engine serves flows of one load in
// their order, so that in turn k port i sends to port i+k, and at any moment all
// ports send to different ones.
func fullMesh(ports int) []flow {
	all := upTo(ports)
	flows := make([]flow, 0, ports*(ports-1))
	for i := range ports {
		for k := 1; k < ports; k++ {
			j := (i + k) % ports
			flows = append(flows, flow{tx: i, rx: all[j : j+1 : j+1], part: int64(ports - 1)})
		}
	}
	return flows
}

// partialMesh lets every port of one side send to all of the other, in turns as
// in a full mesh. The larger side divides the load, so that neither side gets
// more than line rate.
func partialMesh(senders, receivers []int, bidirectional bool) []flow {
	part := int64(max(len(senders), len(receivers)))
	var flows []flow
	side := func(from, to []int) {
		for i, tx := range from {
			for k := range to {
				j := (i + k) % len(to)
				flows = append(flows, flow{tx: tx, rx: to[j : j+1 : j+1], part: part})
			}
		}
	}
	side(senders, receivers)
	if bidirectional {
		side(receivers, senders)
	}
	return flows
}

// fanOut lets one port send to groups that all others receive.
func fanOut(sender, ports, groups int, first netip.Addr) []flow {
	receivers := slices.DeleteFunc(upTo(ports), func(i int) bool { return i == sender })
	flows := make([]flow, groups)
	for i := range flows {
		flows[i] = flow{tx: sender, rx: receivers, part: int64(groups), group: first}
		first = first.Next()
	}
	return flows
}

// mixedClass lets one port send to groups that all others receive, and to each of
// these by itself. An engine serves flows of one load in their order: where both
// classes have as many flows and the same rate, these alternate.
func mixedClass(p v1alpha1.MixedClassPattern, sender, ports int, first netip.Addr) []flow {
	multicast, unicast := int64(p.MulticastFrames), int64(p.UnicastFrames)
	groups := fanOut(sender, ports, int(p.Groups), first)
	receivers := groups[0].rx
	var flows []flow
	for i := range max(len(groups), len(receivers)) {
		if i < len(groups) {
			f := groups[i]
			f.part, f.times = (multicast+unicast)*int64(len(groups)), multicast
			flows = append(flows, f)
		}
		if i < len(receivers) {
			flows = append(flows, flow{tx: sender, rx: receivers[i : i+1 : i+1], part: (multicast + unicast) * int64(len(receivers)), times: unicast})
		}
	}
	return flows
}

// nToN lets every port send to a group that all others receive: a port gets what
// all others send, so that each may send only the share of one.
func nToN(ports int, first netip.Addr, stagger time.Duration) []flow {
	flows := make([]flow, ports)
	for i := range flows {
		receivers := slices.DeleteFunc(upTo(ports), func(j int) bool { return i == j })
		flows[i] = flow{tx: i, rx: receivers, part: int64(ports - 1), delay: time.Duration(i) * stagger, group: first}
		first = first.Next()
	}
	return flows
}

// upTo are the numbers from 0 up to below n.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// sides are the ports of a partial mesh. Names that the bed does not have are
// left out; validation has refused them.
func sides(p v1alpha1.PartialMeshPattern, ports []Port) (senders, receivers []int) {
	byName := map[string]int{}
	for i, port := range ports {
		byName[port.Name] = i
	}
	named := func(names []string) []int {
		var found []int
		for _, name := range names {
			if i, ok := byName[name]; ok {
				found = append(found, i)
			}
		}
		return found
	}
	senders = named(p.Senders)
	if p.SenderCount != nil {
		senders = upTo(min(int(*p.SenderCount), len(ports)))
	}
	if len(p.Receivers) > 0 {
		return senders, named(p.Receivers)
	}
	receivers = slices.DeleteFunc(upTo(len(ports)), func(i int) bool { return slices.Contains(senders, i) })
	if p.ReceiverCount != nil {
		receivers = receivers[:min(int(*p.ReceiverCount), len(receivers))]
	}
	return senders, receivers
}

// Stagger returns the time by which each port begins after the one before.
func Stagger(p v1alpha1.NToNPattern) time.Duration {
	if p.Stagger == nil {
		return 0
	}
	return p.Stagger.Duration
}

// namedPort is the index of the port of a name; the first port when there is none.
func namedPort(name string, ports []Port) int {
	return max(0, slices.IndexFunc(ports, func(port Port) bool { return port.Name == name }))
}
