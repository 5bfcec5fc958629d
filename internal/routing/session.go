package routing

import (
	"cmp"
	"net/netip"
	"time"
)

// Family is an address family of BGP: AFI and SAFI (RFC 4760).
type Family string

// The families that speakers carry.
const (
	// IPv4Unicast is AFI 1, SAFI 1.
	IPv4Unicast Family = "ipv4Unicast"
	// IPv6Unicast is AFI 2, SAFI 1.
	IPv6Unicast Family = "ipv6Unicast"
	// IPv4LabeledUnicast is AFI 1, SAFI 4 (RFC 8277).
	IPv4LabeledUnicast Family = "ipv4LabeledUnicast"
	// IPv6LabeledUnicast is AFI 2, SAFI 4 (RFC 8277).
	IPv6LabeledUnicast Family = "ipv6LabeledUnicast"
)

// IPv6 reports whether the routes of the family are of IPv6.
func (f Family) IPv6() bool { return f == IPv6Unicast || f == IPv6LabeledUnicast }

// Labeled reports whether the routes of the family have labels.
func (f Family) Labeled() bool { return f == IPv4LabeledUnicast || f == IPv6LabeledUnicast }

// Protocol of a session.
type Protocol string

// The protocols that speakers have.
const (
	// BGP is the Border Gateway Protocol (RFC 4271).
	BGP Protocol = "BGP"
	// LDP is the Label Distribution Protocol (RFC 5036): the routes of its sessions are labels
	// of prefixes.
	LDP Protocol = "LDP"
)

// String is the name of the protocol; BGP for the empty one.
func (p Protocol) String() string { return cmp.Or(string(p), string(BGP)) }

// Session is one session of the tester with the device.
type Session struct {
	// Name identifies the session in the bed.
	Name string
	// Protocol of the session; empty for BGP. A session of LDP has no AS numbers, no BFD and
	// no further paths.
	Protocol Protocol
	// Port of the bed that the session runs over.
	Port string
	// Local and Remote are the addresses of tester and device, of one IP version.
	Local, Remote netip.Addr
	// LocalASN and RemoteASN are the AS numbers, 1 to 4294967295.
	LocalASN, RemoteASN uint32
	// RouterID is the BGP identifier or the LSR ID of the tester, an IPv4 address.
	RouterID netip.Addr
	// Families that the session carries; at least one.
	Families []Family
	// HoldTime that the tester proposes: 3 s to 65535 s, or 0 with BGP. KEEPALIVE messages are
	// sent every third of what is agreed on.
	HoldTime time.Duration
	// AddPath sends and receives several paths of one prefix (RFC 7911).
	AddPath bool
	// Password of TCP MD5 (RFC 2385); empty for none. It is never printed.
	Password Secret
	// BFD runs next to the session; nil for none.
	BFD *BFD
}

// Internal reports whether tester and device are in one AS (iBGP).
func (s Session) Internal() bool { return s.Protocol != LDP && s.LocalASN == s.RemoteASN }

// Readvertised returns the table that the device advertises to its other peers of sets that
// the session has announced to it.
func (s Session) Readvertised(sets []Routes) Table {
	if s.Protocol != LDP {
		return Readvertised(s.RemoteASN, s.LocalASN, sets)
	}
	var t Table
	for _, set := range sets {
		for i := range set.Count {
			t.Digest += LabelDigest(set.Prefix(i))
		}
		t.Routes += uint64(set.Count)
	}
	return t
}

// BFD is bidirectional forwarding detection (RFC 5880), single hop (RFC 5881).
type BFD struct {
	// Interval between control packets in both directions.
	Interval time.Duration
	// Multiplier is the number of missing packets after which the path is down, 1 to 255.
	Multiplier uint8
}

// Secret is text that is never printed.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }
