package membership

import (
	"encoding/binary"
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Kind is the type of a record about a group (RFC 3376 section 4.2.12, RFC 3810 section
// 5.2.12, which have the same numbers).
type Kind uint8

const (
	// IsInclude answers a query: only the sources given are wanted.
	IsInclude Kind = 1
	// IsExclude answers a query: every source is wanted but those given.
	IsExclude Kind = 2
	// ToInclude reports that from now on only the given sources are wanted. Without
	// sources it leaves the group.
	ToInclude Kind = 3
	// ToExclude reports that from now on all sources except the given ones are wanted.
	// Without sources it joins the group.
	ToExclude Kind = 4
	// Allow adds the given sources to the wanted ones.
	Allow Kind = 5
	// Block removes the given sources from the wanted ones.
	Block Kind = 6
)

// Record is the part of a report about one group.
type Record struct {
	// Kind of the record.
	Kind Kind
	// Group is a multicast address.
	Group netip.Addr
	// Sources of the same family.
	Sources []netip.Addr
}

// Host is the sender of reports.
type Host struct {
	// MAC is the hardware address that reports are sent from.
	MAC traffic.MAC
	// IPv4 is the address that IGMP reports are sent from; invalid for none, which
	// is sent as 0.0.0.0 (RFC 3376 section 4.2.13).
	IPv4 netip.Addr
	// MTU of the port in bytes.
	MTU int
	// VLANs are the tags of the reports.
	VLANs frame.VLANs
}

const (
	etherBytes = 14
	// An IPv4 header with the router alert option, and an IPv6 header with the
	// hop-by-hop options that hold it.
	ipv4Bytes, ipv6Bytes = 24, 48
	// reportBytes is the head of a report, in both protocols.
	reportBytes = 8
	// recordBytes is a record without its addresses.
	recordBytes = 4

	protocolIGMP, protocolICMPv6   = 2, 58
	igmpReport, mldReport          = 0x22, 143
	internetworkControl            = 0xc0
	hopByHop, padN, routerAlertMLD = 0, 1, 5
)

var (
	allIGMPv3Routers = netip.MustParseAddr("224.0.0.22")
	allMLDv2Routers  = netip.MustParseAddr("ff02::16")
)

// Reports returns the Ethernet frames with the records, without FCS: those
// of IPv4 first. A record with more sources than fit into a frame is split.
func (h Host) Reports(records []Record) [][]byte {
	var frames [][]byte
	for _, v6 := range []bool{false, true} {
		var body []byte
		count := 0
		flush := func() {
			if count > 0 {
				frames = append(frames, h.report(v6, count, body))
			}
			body, count = nil, 0
		}
		for _, r := range records {
			if r.Group.Is6() != v6 {
				continue
			}
			for _, part := range h.split(r) {
				b := part.encode()
				if reportBytes+len(body)+len(b) > h.room(v6) {
					flush()
				}
				body, count = append(body, b...), count+1
			}
		}
		flush()
	}
	return frames
}

// room returns the number of bytes that a report may have.
func (h Host) room(v6 bool) int {
	if v6 {
		return h.MTU - ipv6Bytes
	}
	return h.MTU - ipv4Bytes
}

// split divides a record whose sources do not fit into one report. A record that
// lists the wanted sources can be divided; the other kinds are only ever sent
// without sources (RFC 3376 section 4.2.16).
func (h Host) split(r Record) []Record {
	size := r.Group.BitLen() / 8
	most := (h.room(r.Group.Is6()) - reportBytes - recordBytes - size) / size
	var parts []Record
	for len(r.Sources) > most {
		parts = append(parts, Record{Kind: r.Kind, Group: r.Group, Sources: r.Sources[:most]})
		r.Sources = r.Sources[most:]
		if r.Kind == ToInclude {
			r.Kind = Allow // or each part would revoke the one before
		}
	}
	return append(parts, r)
}

func (r Record) encode() []byte {
	b := []byte{byte(r.Kind), 0, 0, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(len(r.Sources)))
	b = append(b, r.Group.AsSlice()...)
	for _, s := range r.Sources {
		b = append(b, s.AsSlice()...)
	}
	return b
}

// report puts records into a frame.
func (h Host) report(v6 bool, count int, records []byte) []byte {
	body := make([]byte, reportBytes, reportBytes+len(records))
	binary.BigEndian.PutUint16(body[6:], uint16(count))
	body = append(body, records...)
	if v6 {
		return h.VLANs.Tag(h.mld(body))
	}
	return h.VLANs.Tag(h.igmp(body))
}

// igmp is a frame with an IGMPv3 report: precedence internetwork control, time
// to live 1 and the router alert option (RFC 3376 section 4).
func (h Host) igmp(body []byte) []byte {
	body[0] = igmpReport
	binary.BigEndian.PutUint16(body[2:], frame.Checksum(frame.Sum(body)))
	b := make([]byte, etherBytes+ipv4Bytes, max(60, etherBytes+ipv4Bytes+len(body)))
	h.ethernet(b, allIGMPv3Routers, 0x0800)
	ip := b[etherBytes:]
	ip[0], ip[1] = 4<<4|ipv4Bytes/4, internetworkControl
	binary.BigEndian.PutUint16(ip[2:], uint16(ipv4Bytes+len(body)))
	binary.BigEndian.PutUint16(ip[6:], 0x4000) // don't fragment
	ip[8], ip[9] = 1, protocolIGMP
	if h.IPv4.Is4() {
		copy(ip[12:], h.IPv4.AsSlice())
	}
	copy(ip[16:], allIGMPv3Routers.AsSlice())
	copy(ip[20:], []byte{0x94, 4, 0, 0}) // router alert (RFC 2113)
	binary.BigEndian.PutUint16(ip[10:], frame.Checksum(frame.Sum(ip[:ipv4Bytes])))
	return padded(append(b, body...))
}

// mld is a frame with an MLDv2 report: from a link-local address, hop limit 1
// and the router alert option (RFC 3810 section 5).
func (h Host) mld(body []byte) []byte {
	body[0] = mldReport
	b := make([]byte, etherBytes+ipv6Bytes, etherBytes+ipv6Bytes+len(body))
	h.ethernet(b, allMLDv2Routers, 0x86dd)
	ip := b[etherBytes:]
	ip[0] = 6 << 4
	binary.BigEndian.PutUint16(ip[4:], uint16(ipv6Bytes-40+len(body)))
	ip[6], ip[7] = hopByHop, 1
	copy(ip[8:], h.LinkLocal().AsSlice())
	copy(ip[24:], allMLDv2Routers.AsSlice())
	copy(ip[40:], []byte{protocolICMPv6, 0, routerAlertMLD, 2, 0, 0, padN, 0})
	sum := frame.Sum(ip[8:40]) + frame.Sum(body) + uint64(len(body)) + protocolICMPv6
	binary.BigEndian.PutUint16(body[2:], frame.Checksum(sum))
	return append(b, body...)
}

// LinkLocal is the link-local address derived from the host's MAC (RFC 4291 appendix A).
func (h Host) LinkLocal() netip.Addr {
	m := h.MAC
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]})
}

func (h Host) ethernet(b []byte, to netip.Addr, etherType uint16) {
	mac := MAC(to)
	copy(b, mac[:])
	copy(b[6:], h.MAC[:])
	binary.BigEndian.PutUint16(b[12:], etherType)
}

// padded pads a frame to the minimum length of Ethernet, without FCS.
func padded(b []byte) []byte {
	for len(b) < 60 {
		b = append(b, 0)
	}
	return b
}

// MAC is the hardware address of a multicast group (RFC 1112 section 6.4, RFC
// 2464 section 7).
func MAC(group netip.Addr) traffic.MAC {
	b := group.AsSlice()
	tail := b[len(b)-4:]
	if group.Is4() {
		return traffic.MAC{0x01, 0x00, 0x5e, tail[1] & 0x7f, tail[2], tail[3]}
	}
	return traffic.MAC{0x33, 0x33, tail[0], tail[1], tail[2], tail[3]}
}
