package plan

import (
	"net/netip"
	"slices"

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
