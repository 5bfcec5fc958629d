package routing

import (
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

// Session is one BGP session of the tester with the device (RFC 4271).
type Session struct {
	// Name identifies the session in the bed.
	Name string
	// Port of the bed that the session runs over.
	Port string
	// Local and Remote are the addresses of tester and device, of one IP version.
	Local, Remote netip.Addr
	// LocalASN and RemoteASN are the AS numbers, 1 to 4294967295.
	LocalASN, RemoteASN uint32
	// RouterID is the BGP identifier of the tester, an IPv4 address.
	RouterID netip.Addr
	// Families that the session carries; at least one.
	Families []Family
	// HoldTime that the tester proposes: 0, or 3 s to 65535 s. KEEPALIVE messages are
	// sent every third of what is agreed on.
	HoldTime time.Duration
	// AddPath sends and receives several paths of one prefix (RFC 7911).
	AddPath bool
	// Password of TCP MD5 (RFC 2385); empty for none. It is never printed.
	Password Secret
	// BFD runs next to the session; nil for none.
	BFD *BFD
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
