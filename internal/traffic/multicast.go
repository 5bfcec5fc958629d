package traffic

import "net/netip"

// Membership is one port's interest in consecutive multicast groups.
type Membership struct {
	// Port that receives.
	Port string
	// Group is the first group.
	Group netip.Addr
	// Count of groups, at least 1.
	Count uint32
	// Source restricts the groups to one sender (RFC 4607); invalid for any.
	Source netip.Addr
}

// End is the group that follows the last one; invalid where none does.
func (m Membership) End() netip.Addr { return Above(m.Group, m.Count) }

// Above is the address n above another one, invalid beyond the last.
func Above(a netip.Addr, n uint32) netip.Addr {
	b := a.AsSlice()
	carry := uint64(n)
	for i := len(b) - 1; i >= 0 && carry > 0; i-- {
		carry += uint64(b[i])
		b[i] = byte(carry)
		carry >>= 8
	}
	if carry > 0 {
		return netip.Addr{}
	}
	sum, _ := netip.AddrFromSlice(b)
	return sum
}

// Moments contains for each port the time of an event, in nanoseconds of the clock of the
// port's host. Compare only times of the same port.
type Moments map[string]uint64
