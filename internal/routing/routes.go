package routing

import "net/netip"

// Routes is a set of routes with one set of path attributes.
type Routes struct {
	// Name of the set in the profile.
	Name string
	// First prefix; the others count up from it.
	First netip.Prefix
	// Count of prefixes, at least 1.
	Count uint32
	// Stride is the distance between two successive prefixes, in prefixes of this length;
	// 0 means 1.
	Stride uint32
	// Attributes of all paths of the set.
	Attributes Attributes
}

// Attributes are the path attributes of a set as the tester sends them.
type Attributes struct {
	// NextHop of the routes; the zero Addr means the tester's address of the session.
	NextHop netip.Addr
	// ASPath that follows the tester's own AS number.
	ASPath []uint32
	// MED is the MULTI_EXIT_DISC; nil for none.
	MED *uint32
	// Communities (RFC 1997).
	Communities []uint32
	// Label of the first prefix with labeled unicast (RFC 8277); further labels
	// count up. 0 for unlabelled routes.
	Label uint32
	// PathID of the routes with AddPath.
	PathID uint32
}
