package routing

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"slices"
)

// Well-known communities (RFC 1997) that keep a route from eBGP peers.
const (
	NoExport          uint32 = 0xffffff01
	NoAdvertise       uint32 = 0xffffff02
	NoExportSubconfed uint32 = 0xffffff03
)

// PathDigest is the digest of the attributes of a path. The order of communities does not
// matter. In asPath a 0 goes before the numbers of an AS_SET.
func PathDigest(asPath []uint32, med *uint32, communities []uint32) uint64 {
	communities = slices.Compact(slices.Sorted(slices.Values(communities)))
	b := make([]byte, 0, 16+4*len(asPath)+4*len(communities))
	b = binary.BigEndian.AppendUint32(b, uint32(len(asPath)))
	for _, asn := range asPath {
		b = binary.BigEndian.AppendUint32(b, asn)
	}
	if med != nil {
		b = append(b, 1)
		b = binary.BigEndian.AppendUint32(b, *med)
	}
	for _, c := range communities {
		b = binary.BigEndian.AppendUint32(b, c)
	}
	h := fnv.New64a()
	_, _ = h.Write(b) // never fails
	return mix(h.Sum64())
}

// RouteDigest is the digest of a route whose attributes have the digest path.
func RouteDigest(family Family, prefix netip.Prefix, path uint64) uint64 {
	hi, lo := words(prefix.Addr())
	kind := uint64(prefix.Bits())
	switch family {
	case IPv6Unicast:
		kind |= 1 << 8
	case IPv4LabeledUnicast:
		kind |= 2 << 8
	case IPv6LabeledUnicast:
		kind |= 3 << 8
	}
	return mix(mix(mix(hi^kind<<48^kind)+lo) + path)
}

// LabelDigest is the digest of a label that LDP distributes for a prefix. The label itself is
// not in it, as each router chooses its own.
func LabelDigest(prefix netip.Prefix) uint64 {
	family := IPv4LabeledUnicast
	if prefix.Addr().Is6() {
		family = IPv6LabeledUnicast
	}
	return RouteDigest(family, prefix, 0)
}

// mix spreads each bit over all (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Add is the table with the routes of both.
func (t Table) Add(o Table) Table { return Table{t.Routes + o.Routes, t.Digest + o.Digest} }

// Readvertised returns what other eBGP peers learn of sets that a session in AS tester has
// announced to a device in AS device (RFC 4271, 5.1): the AS path with the device's number
// before it, no MED, and the communities. Routes with a community that keeps them from eBGP
// peers are left out. No prefix may be in two of the sets.
func Readvertised(device, tester uint32, sets []Routes) Table {
	var t Table
	for _, set := range sets {
		a := set.Attributes
		if slices.ContainsFunc(a.Communities, func(c uint32) bool {
			return c == NoExport || c == NoAdvertise || c == NoExportSubconfed
		}) {
			continue
		}
		path := PathDigest(slices.Concat([]uint32{device, tester}, a.ASPath), nil, a.Communities)
		family := set.Family()
		for i := range set.Count {
			t.Digest += RouteDigest(family, set.Prefix(i), path)
		}
		t.Routes += uint64(set.Count)
	}
	return t
}
