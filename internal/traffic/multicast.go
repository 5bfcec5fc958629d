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

// Moments says for every port when something happened to it, in nanoseconds of
// the clock of the port's host. They are only compared with those of the same
// port.
type Moments map[string]uint64
