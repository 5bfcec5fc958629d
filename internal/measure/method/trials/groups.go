package trials

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// MulticastGroup is a group of the plan: who sends to it, and the ports, by their
// index, that are to receive it.
type MulticastGroup struct {
	Address netip.Addr
	Streams []plan.Stream
	Ports   []int
}

// Routes returns the number of multicast routes that a router needs for the group: one per
// sender.
func (g MulticastGroup) Routes() int64 {
	n := int64(0)
	for _, s := range g.Streams {
		n += int64(max(s.Headers.SrcIPCount, 1))
	}
	return n
}

// GroupsOf are the multicast groups of streams in the order of their addresses.
func GroupsOf(streams []plan.Stream) []MulticastGroup {
	at := map[netip.Addr]int{}
	var groups []MulticastGroup
	for _, s := range streams {
		if !s.Headers.DstIP.IsMulticast() {
			continue
		}
		i, known := at[s.Headers.DstIP]
		if !known {
			i = len(groups)
			at[s.Headers.DstIP] = i
			groups = append(groups, MulticastGroup{Address: s.Headers.DstIP})
		}
		groups[i].Streams = append(groups[i].Streams, s)
		groups[i].Ports = append(groups[i].Ports, s.Rx...)
	}
	for i := range groups {
		slices.Sort(groups[i].Ports)
		groups[i].Ports = slices.Compact(groups[i].Ports)
	}
	slices.SortFunc(groups, func(a, b MulticastGroup) int { return a.Address.Compare(b.Address) })
	return groups
}

// Receivers are the ports of some groups, each once.
func Receivers(groups []MulticastGroup) []int {
	var ports []int
	for _, g := range groups {
		ports = append(ports, g.Ports...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Reports names the protocol by which ports report memberships of a family.
func Reports(groups []MulticastGroup) string {
	if groups[0].Address.Is6() {
		return "MLDv2"
	}
	return "IGMPv3"
}

// NeedsMulticast refuses traffic that has no groups, and engines whose ports cannot
// join them.
func NeedsMulticast(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	for _, s := range in.Streams {
		if !s.Headers.DstIP.IsMulticast() {
			return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf(
				"the test is about multicast groups, and traffic profile %s sends to %s, which is none: give the profile the pattern fanOut, or name a profile that has it", in.Profile, destination(s, in.Ports)))}
		}
	}
	if !in.Engine.Multicast {
		return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf(
			"ports of engine %s of test bed %s cannot join multicast groups: choose a bed with another engine", in.Bed.Spec.Engine.Kind, in.Bed.Name))}
	}
	return nil
}

func destination(s plan.Stream, ports []plan.Port) string {
	if s.Headers.DstIP.IsValid() {
		return s.Headers.DstIP.String()
	}
	return "port " + ports[s.Rx[0]].Name
}
