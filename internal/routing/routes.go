package routing

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

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

// Family of the set's routes.
func (r Routes) Family() Family {
	switch {
	case r.First.Addr().Is4() && r.Attributes.Label > 0:
		return IPv4LabeledUnicast
	case r.First.Addr().Is4():
		return IPv4Unicast
	case r.Attributes.Label > 0:
		return IPv6LabeledUnicast
	}
	return IPv6Unicast
}

// Prefix is the i-th prefix of the set, counted from 0. It is the zero Prefix where the
// addresses end before it.
func (r Routes) Prefix(i uint32) netip.Prefix {
	hi, lo := words(r.First.Masked().Addr())
	stepHi, stepLo, ok := shiftLeft(uint64(i)*r.step(), 128-r.First.Bits())
	lo, carry := bits.Add64(lo, stepLo, 0)
	hi, carry = bits.Add64(hi, stepHi, carry)
	if !ok || carry > 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(address(hi, lo, r.First.Addr().Is4()), r.First.Bits())
}

// Part is the set with count of its prefixes from the first-th on, counted from 0.
func (r Routes) Part(first, count uint32) Routes {
	r.First, r.Count = r.Prefix(first), count
	if r.Attributes.Label > 0 {
		r.Attributes.Label += first
	}
	return r
}

// Index is the position of a prefix in the set, counted from 0, and whether it is there.
func (r Routes) Index(p netip.Prefix) (uint32, bool) {
	if p.Bits() != r.First.Bits() || p.Addr().Is4() != r.First.Addr().Is4() {
		return 0, false
	}
	hi, lo := words(p.Addr())
	firstHi, firstLo := words(r.First.Masked().Addr())
	lo, borrow := bits.Sub64(lo, firstLo, 0)
	hi, borrow = bits.Sub64(hi, firstHi, borrow)
	n, ok := shiftRight(hi, lo, 128-p.Bits())
	if borrow > 0 || !ok || n%r.step() != 0 || n/r.step() >= uint64(r.Count) {
		return 0, false
	}
	return uint32(n / r.step()), true
}

// Check returns an error that describes what is wrong with the set, or nil.
func (r Routes) Check() error {
	switch {
	case !r.First.IsValid() || r.First.Addr().Is4In6():
		return fmt.Errorf("routes %s: first: %v is no prefix, for example 198.18.128.0/24", r.Name, r.First)
	case r.First != r.First.Masked():
		return fmt.Errorf("routes %s: first: %v has bits after its length; %v has not", r.Name, r.First, r.First.Masked())
	case r.Count == 0:
		return fmt.Errorf("routes %s: count: 0, must be at least 1", r.Name)
	case !r.Prefix(r.Count - 1).IsValid():
		return fmt.Errorf("routes %s: count: %d prefixes from %v go beyond the last address", r.Name, r.Count, r.First)
	case r.Attributes.Label > 0 && uint64(r.Attributes.Label)+uint64(r.Count)-1 > 1<<20-1:
		return fmt.Errorf("routes %s: label: %d labels from %d go beyond 1048575, the last one", r.Name, r.Count, r.Attributes.Label)
	}
	return nil
}

func (r Routes) step() uint64 { return uint64(max(1, r.Stride)) }

// words are an address as 128 bits; an IPv4 address is the first 32 of them.
func words(a netip.Addr) (hi, lo uint64) {
	if a.Is4() {
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:])) << 32, 0
	}
	b := a.As16()
	return binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
}

func address(hi, lo uint64, is4 bool) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	if is4 {
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	binary.BigEndian.PutUint64(b[8:], lo)
	return netip.AddrFrom16(b)
}

// shiftLeft is n shifted by s bits, 0 to 128, and whether no bit was lost.
func shiftLeft(n uint64, s int) (hi, lo uint64, ok bool) {
	if s >= 64 {
		return n << (s - 64), 0, bits.Len64(n) <= 128-s
	}
	return n >> (64 - s), n << s, true
}

// shiftRight is the inverse; it is not ok when a bit was lost or the result has more
// than 64.
func shiftRight(hi, lo uint64, s int) (n uint64, ok bool) {
	if s >= 64 {
		n = hi >> (s - 64)
		return n, lo == 0 && n<<(s-64) == hi
	}
	n = hi<<(64-s) | lo>>s
	return n, hi>>s == 0 && lo>>s<<s == lo
}
