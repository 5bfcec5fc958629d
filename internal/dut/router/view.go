package router

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/routing"
)

// view contains the data that templates see.
type view struct {
	Config
	// Neighbors have sessions of BGP, and LabelPeers sessions of LDP.
	Neighbors, LabelPeers []neighbor
}

// Purpose describes what the configuration is for.
func (v view) Purpose() string {
	sessions := "BGP sessions of the tester"
	if len(v.LabelPeers) > 0 {
		sessions = "LDP sessions of the tester"
	}
	switch {
	case v.PIM == nil:
		return sessions
	case len(v.Neighbors)+len(v.LabelPeers) == 0:
		return "Multicast routing between the ports of the tester"
	}
	return sessions + ", and multicast routing between its ports"
}

// Speaks reports whether an interface has a session of LDP.
func (v view) Speaks(i Interface) bool {
	return slices.ContainsFunc(v.LabelPeers, func(n neighbor) bool { return n.Port == i.Port })
}

// LocalPoint reports whether the device is the rendezvous point itself.
func (v view) LocalPoint() bool {
	return slices.ContainsFunc(v.Interfaces, func(i Interface) bool {
		return slices.ContainsFunc(i.Addresses, func(p netip.Prefix) bool { return p.Addr() == v.PIM.RendezvousPoint })
	})
}

// family is an address family with its name in the languages of routers.
type family struct {
	routing.Family
	// CLI is its name in the style of FRR, NX-OS and EOS: ipv4 unicast.
	CLI string
}

var allFamilies = []family{
	{routing.IPv4Unicast, "ipv4 unicast"},
	{routing.IPv6Unicast, "ipv6 unicast"},
	{routing.IPv4LabeledUnicast, "ipv4 labeled-unicast"},
	{routing.IPv6LabeledUnicast, "ipv6 labeled-unicast"},
}

// Families that a neighbor has.
func (v view) Families() []family {
	return slices.DeleteFunc(slices.Clone(allFamilies), func(f family) bool {
		return !slices.ContainsFunc(v.Neighbors, func(n neighbor) bool { return n.Carries(f.Family) })
	})
}

// Labeled reports whether a neighbor has labeled unicast.
func (v view) Labeled() bool {
	return slices.ContainsFunc(v.Families(), func(f family) bool { return f.Labeled() })
}

// AddPath reports whether a neighbor has it.
func (v view) AddPath() bool {
	return slices.ContainsFunc(v.Neighbors, func(n neighbor) bool { return n.AddPath })
}

// BFD reports whether a neighbor has it.
func (v view) BFD() bool {
	return slices.ContainsFunc(v.Neighbors, func(n neighbor) bool { return n.BFD != nil })
}

// Secrets reports whether a neighbor has a password.
func (v view) Secrets() bool {
	return slices.ContainsFunc(v.Neighbors, func(n neighbor) bool { return n.Password != "" })
}

// BFDOf is the BFD of the first session on an interface that has it, for routers on which
// the interface has the timers; nil without one.
func (v view) BFDOf(i Interface) *routing.BFD {
	for _, n := range v.Neighbors {
		if n.Port == i.Port && n.BFD != nil {
			return n.BFD
		}
	}
	return nil
}

// Accepted are the networks of an IP version that the device accepts.
func (v view) Accepted(ipv6 bool) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(v.Accept), func(p netip.Prefix) bool { return p.Addr().Is6() != ipv6 })
}

// Addresses6 are the IPv6 addresses of an interface, and Addresses4 the others.
func (i Interface) Addresses6() []netip.Prefix { return i.of(true) }

// Addresses4 are the IPv4 addresses of an interface.
func (i Interface) Addresses4() []netip.Prefix { return i.of(false) }

func (i Interface) of(ipv6 bool) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(i.Addresses), func(p netip.Prefix) bool { return p.Addr().Is6() != ipv6 })
}

// Unit is the number of the subinterface: the innermost VLAN, 0 without one.
func (i Interface) Unit() uint16 {
	if len(i.VLANs) == 0 {
		return 0
	}
	return i.VLANs[len(i.VLANs)-1].ID
}

// Tagged is the name of the interface with its VLANs after it, as Linux interfaces are
// called by custom: eth1.100.
func (i Interface) Tagged() string {
	name := i.Name
	for _, tag := range i.VLANs {
		name += fmt.Sprintf(".%d", tag.ID)
	}
	return name
}

// neighbor is the tester as the device sees it: Local is its address.
type neighbor struct {
	routing.Session
	passwords bool
}

// Carries reports whether the session has a family.
func (n neighbor) Carries(f routing.Family) bool { return slices.Contains(n.Families, f) }

// Internal reports whether device and tester are in one AS.
func (n neighbor) Internal() bool { return n.LocalASN == n.RemoteASN }

// Carried are the families of the session.
func (n neighbor) Carried() []family {
	return slices.DeleteFunc(slices.Clone(allFamilies), func(f family) bool { return !n.Carries(f.Family) })
}

// Secret is the password, or a placeholder; empty for none.
func (n neighbor) Secret() string {
	if n.Password == "" || n.passwords {
		return string(n.Password)
	}
	return "PASSWORD-OF-" + strings.ToUpper(n.Name)
}
