package policy

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/workload"
)

// workloads judges the addresses of hosts on the ports, and the multicast groups of messages.
func (c checker) workloads(b *v1alpha1.Benchmark) field.ErrorList {
	var problems field.ErrorList
	for i, t := range b.Spec.Tests {
		member := plan.HostsOf(t)
		if member == "" {
			continue
		}
		path := field.NewPath("spec", "tests").Index(i).Child(member)
		problems = append(problems, c.hostsOfPorts(path, t.Name, "sourceAddresses", c.sources)...)
		problems = append(problems, c.hostsOfPorts(path, t.Name, "destinationAddresses", c.destinations)...)
		if t.MessageRate != nil {
			problems = append(problems, c.groupsAt(path.Child("firstGroup"), groupsOf(t.MessageRate), "leave the test out")...)
		}
	}
	return problems
}

// hostsOfPorts judges the networks of the ports: hosts take free addresses of them.
func (c checker) hostsOfPorts(path *field.Path, test, member string, r rule[[]v1alpha1.AddressPrefix]) field.ErrorList {
	if r.free {
		return nil
	}
	for _, p := range c.ports {
		own, has := p.Address(false)
		if !has || holdsRange(r.allowed, own.Masked(), own.Masked()) {
			continue
		}
		network := own.Masked()
		needed := append(slices.Clone(r.allowed), v1alpha1.AddressPrefix(network.String()))
		return c.refused(path, test, r.origin, fmt.Sprintf("%s, and hosts on port %s take addresses of %s", listedOrNone(member, r.allowed), p.Name, network),
			"use a bed whose networks are allowed", fmt.Sprintf("%s: [%s]", member, listed(needed)))
	}
	return nil
}

// groupsOf returns the multicast groups of messages; none if the first one is not an address of IPv4.
func groupsOf(t *v1alpha1.MessageRateTest) []netip.Addr {
	first, err := netip.ParseAddr(string(t.FirstGroup))
	if err != nil || !first.Is4() {
		return nil
	}
	groups := make([]netip.Addr, t.Groups)
	for n := range groups {
		groups[n] = workload.Group(first, n)
	}
	return groups
}
