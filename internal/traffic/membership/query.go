package membership

import (
	"encoding/binary"
	"net/netip"
)

// Query describes what a router asks for.
type Query struct {
	// IPv6 reports whether it asks by MLD, else by IGMP.
	IPv6 bool
	// Group that it asks for; invalid for all.
	Group netip.Addr
	// Sources that it asks for; empty for all.
	Sources []netip.Addr
}

const (
	igmpQuery, mldQuery = 0x11, 130
	// The fields of a query before its sources, in IGMPv3 and MLDv2; older versions
	// have less, and no sources.
	igmpQueryBytes, igmpShortBytes = 12, 8
	mldQueryBytes, mldShortBytes   = 28, 24
)

// ParseQuery reads an Ethernet frame, and reports whether it is a query of any version of IGMP
// or MLD. Checksums are not verified: a query that was damaged in transit causes one report
// too many.
func ParseQuery(b []byte) (Query, bool) {
	if len(b) < etherBytes+20 {
		return Query{}, false
	}
	ip := b[etherBytes:]
	switch binary.BigEndian.Uint16(b[12:]) {
	case 0x0800:
		size, total := int(ip[0]&0xf)*4, int(binary.BigEndian.Uint16(ip[2:]))
		if ip[0]>>4 != 4 || ip[9] != protocolIGMP || total > len(ip) || size < 20 || total < size+igmpShortBytes {
			return Query{}, false
		}
		body := ip[size:total]
		if body[0] != igmpQuery {
			return Query{}, false
		}
		return parse(body[4:8], body, igmpQueryBytes, false)
	case 0x86dd:
		if len(ip) < ipv6Bytes+mldShortBytes || ip[0]>>4 != 6 || ip[6] != hopByHop || ip[40] != protocolICMPv6 || ip[41] != 0 {
			return Query{}, false
		}
		total := 40 + int(binary.BigEndian.Uint16(ip[4:]))
		if total > len(ip) || total < ipv6Bytes+mldShortBytes {
			return Query{}, false
		}
		body := ip[ipv6Bytes:total]
		if body[0] != mldQuery {
			return Query{}, false
		}
		return parse(body[8:24], body, mldQueryBytes, true)
	}
	return Query{}, false
}

// parse reads a query's group, and its sources from an offset on.
func parse(group, body []byte, offset int, v6 bool) (Query, bool) {
	q := Query{IPv6: v6}
	if g, _ := netip.AddrFromSlice(group); !g.IsUnspecified() {
		q.Group = g
	}
	if len(body) < offset {
		return q, true
	}
	n, size := int(binary.BigEndian.Uint16(body[offset-2:])), len(group)
	if len(body) < offset+n*size {
		return Query{}, false
	}
	for i := range n {
		s, _ := netip.AddrFromSlice(body[offset+i*size : offset+(i+1)*size])
		q.Sources = append(q.Sources, s)
	}
	return q, true
}
