package frame

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// WireOverhead is the number of bytes of a frame on the wire in addition to its own:
	// preamble, start delimiter and inter-frame gap (IEEE 802.3).
	WireOverhead = 20
	// EthernetMinSize is the smallest Ethernet frame, with FCS.
	EthernetMinSize = 64
	// MaxSize is the largest frame that NoDrop measures, with FCS.
	MaxSize = 9216

	ethernetBytes = 14
	ipv4Bytes     = 20
	ipv6Bytes     = 40
	udpBytes      = 8
	fcsBytes      = 4
	// A VLAN tag and an MPLS label take as much each.
	tagBytes = 4
	// A signature takes 18 bytes. With IPv6 two more are kept free, so that the
	// smallest frame is the 86 bytes that published IPv6 results begin with.
	ipv4SignatureBytes = 18
	ipv6SignatureBytes = 20
)

// part of the headers of a frame.
type part struct {
	bytes int
	name  string
}

// parts of the smallest frame of a packet, in their order.
func parts(packet v1alpha1.Packet) []part {
	parts := []part{{ethernetBytes, "Ethernet"}}
	if packet.VLAN != nil {
		if packet.VLAN.Service != nil {
			parts = append(parts, part{tagBytes, "service VLAN"})
		}
		parts = append(parts, part{tagBytes, "VLAN"})
	}
	if packet.MPLS != nil {
		parts = append(parts, part{tagBytes * len(packet.MPLS.Labels), "MPLS"})
	}
	parts = append(parts, tunnelOf(packet.Tunnel).Kind.parts(packet.IPv6 != nil)...)
	signature := ipv4SignatureBytes
	switch {
	case packet.Custom != nil:
		signature = customSignature
		custom, _ := CustomBytes(*packet.Custom) // validated before
		parts = append(parts, part{len(custom) - etherTypeBytes, "custom"})
	case packet.IPv6 != nil:
		signature = ipv6SignatureBytes
		parts = append(parts, part{ipv6Bytes, "IPv6"}, part{udpBytes, "UDP"})
	case packet.Ethernet == nil:
		parts = append(parts, part{ipv4Bytes, "IPv4"}, part{udpBytes, "UDP"})
	}
	if packet.RoCEv2 != nil {
		// With two bytes more than a signature takes, the payload has whole words.
		return append(parts, part{bthBytes, "transport header"}, part{ipv6SignatureBytes, "signature"},
			part{SteerBytes, "CRC steering"}, part{icrcBytes, "invariant CRC"}, part{fcsBytes, "FCS"})
	}
	return append(parts, part{signature, "signature"}, part{fcsBytes, "FCS"})
}

func sum(parts []part) int {
	n := 0
	for _, p := range parts {
		n += p.bytes
	}
	return n
}

// MinimumSize is the smallest frame in bytes with FCS that holds the headers of
// a packet and a test signature: 64 without network layer and for IPv4/UDP, 86
// for IPv6/UDP, 22 or 20 more with RoCEv2, 4 more for every VLAN tag and MPLS label where they do
// not fit into that, and what a tunnel takes.
func MinimumSize(packet v1alpha1.Packet) int {
	return max(EthernetMinSize, sum(parts(packet)))
}

// DescribeMinimum describes the sum that MinimumSize returns, for an error message.
func DescribeMinimum(packet v1alpha1.Packet) string {
	var texts []string
	for _, p := range parts(packet) {
		texts = append(texts, fmt.Sprintf("%d %s", p.bytes, p.name))
	}
	if n := sum(parts(packet)); n < EthernetMinSize {
		return fmt.Sprintf("the least of Ethernet; %s would fit into %d", strings.Join(texts, ", "), n)
	}
	return strings.Join(texts, ", ")
}
