package trex

import (
	"encoding/binary"
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// neighbours are the neighbors of a port, and what the port announces to them.
type neighbours struct {
	*Port
	mac traffic.MAC
	// last is the neighbor that was resolved last, for which the server answers ARP.
	last neighbour
	// known contains the resolved neighbors, and announcing reports whether the port
	// announces its addresses to the gateways among them.
	known      map[netip.Addr]traffic.MAC
	announcing bool
}

// source is the port's address in whose prefix a neighbor lies, or the first of
// the neighbor's family.
func (n *neighbours) source(neighbour netip.Addr) (netip.Addr, bool) {
	var first netip.Addr
	for _, prefix := range n.Addresses {
		if prefix.Addr().Is4() != neighbour.Is4() {
			continue
		}
		if prefix.Masked().Contains(neighbour) {
			return prefix.Addr(), true
		}
		if !first.IsValid() {
			first = prefix.Addr()
		}
	}
	return first, first.IsValid()
}

const (
	ethernetBytes = 14
	ipv6Bytes     = 40
	minFrame      = 60 // without FCS

	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherIPv6 = 0x86dd

	arpRequestOp, arpReplyOp = 1, 2
	arpAt                    = ethernetBytes
	arpBytes                 = 28

	protoUDP    = 17
	protoICMPv6 = 58
	// Neighbor discovery (RFC 4861 sections 4.3, 4.4 and 4.6.1).
	typeSolicitation, typeAdvertisement = 135, 136
	optionSource, optionTarget          = 1, 2
	neighbourBytes                      = 24 // of the message before its options
	neighbourHops                       = 255
)

// arpRequest is an ARP request (RFC 826) for dst, without FCS.
func arpRequest(mac traffic.MAC, src, dst netip.Addr) []byte {
	b := make([]byte, minFrame)
	for i := range 6 {
		b[i] = 0xff
	}
	copy(b[6:], mac[:])
	binary.BigEndian.PutUint16(b[12:], etherARP)
	arp := b[arpAt:]
	binary.BigEndian.PutUint16(arp, 1) // Ethernet
	binary.BigEndian.PutUint16(arp[2:], etherIPv4)
	arp[4], arp[5] = 6, 4
	binary.BigEndian.PutUint16(arp[6:], arpRequestOp)
	copy(arp[8:], mac[:])
	copy(arp[arpSenderAt:], src.AsSlice())
	copy(arp[arpTargetAt:], dst.AsSlice())
	return b
}

// neighbourSolicitation asks for dst at its solicited-node group, without FCS.
func neighbourSolicitation(mac traffic.MAC, src, dst netip.Addr) []byte {
	target := dst.As16()
	group := [16]byte{0: 0xff, 1: 0x02, 11: 0x01, 12: 0xff, 13: target[13], 14: target[14], 15: target[15]}
	b := make([]byte, ethernetBytes+ipv6Bytes+neighbourBytes+8)
	copy(b, []byte{0x33, 0x33, group[12], group[13], group[14], group[15]})
	copy(b[6:], mac[:])
	binary.BigEndian.PutUint16(b[12:], etherIPv6)
	ip := b[ethernetBytes:]
	message := ip[ipv6Bytes:]
	ip[0] = 6 << 4
	binary.BigEndian.PutUint16(ip[4:], uint16(len(message)))
	ip[6], ip[7] = protoICMPv6, neighbourHops
	copy(ip[8:], src.AsSlice())
	copy(ip[24:], group[:])
	message[0] = typeSolicitation
	copy(message[8:], target[:])
	message[24], message[25] = optionSource, 1
	copy(message[26:], mac[:])
	sum := frame.Sum(ip[8:ipv6Bytes]) + protoICMPv6 + uint64(len(message)) + frame.Sum(message)
	binary.BigEndian.PutUint16(message[2:], frame.Checksum(sum))
	return b
}

// answer returns the hardware address of addr if a frame of the port's VLAN is an answer
// with it.
func (n *neighbours) answer(b []byte, addr netip.Addr) (traffic.MAC, bool) {
	untagged, ok := n.VLANs.Untag(b)
	if !ok {
		return traffic.MAC{}, false
	}
	return answer(untagged, addr)
}

// answer returns the hardware address of addr if an untagged frame is an answer with it.
func answer(b []byte, addr netip.Addr) (traffic.MAC, bool) {
	if len(b) < ethernetBytes {
		return traffic.MAC{}, false
	}
	switch kind := binary.BigEndian.Uint16(b[12:]); {
	case kind == etherARP && addr.Is4() && len(b) >= arpAt+arpBytes:
		arp := b[arpAt:]
		from, _ := netip.AddrFromSlice(arp[14:18])
		return traffic.MAC(arp[8:14]), binary.BigEndian.Uint16(arp[6:]) == arpReplyOp && from == addr
	case kind == etherIPv6 && addr.Is6() && len(b) >= ethernetBytes+ipv6Bytes+neighbourBytes:
		ip := b[ethernetBytes:]
		message := ip[ipv6Bytes:]
		target, _ := netip.AddrFromSlice(message[8:24])
		if ip[6] != protoICMPv6 || ip[7] != neighbourHops || message[0] != typeAdvertisement || target != addr {
			return traffic.MAC{}, false
		}
		for o := message[neighbourBytes:]; len(o) >= 8 && o[1] > 0 && len(o) >= 8*int(o[1]); o = o[8*int(o[1]):] {
			if o[0] == optionTarget {
				return traffic.MAC(o[2:8]), true
			}
		}
		return traffic.MAC(b[6:12]), true // without the option, who sent it
	}
	return traffic.MAC{}, false
}
