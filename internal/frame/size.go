package frame

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// WireOverhead is what a frame costs on the wire beside its own bytes:
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
	// A signature takes 18 bytes. With IPv6 two more are kept free, so that the
	// smallest frame is the 86 bytes that published IPv6 results begin with.
	ipv4SignatureBytes = 18
	ipv6SignatureBytes = 20
)

// MinimumSize is the smallest frame in bytes with FCS that holds the headers of
// a packet and a test signature: 64 for IPv4/UDP, 86 for IPv6/UDP.
func MinimumSize(packet v1alpha1.Packet) int {
	if packet.IPv6 != nil {
		return ethernetBytes + ipv6Bytes + udpBytes + ipv6SignatureBytes + fcsBytes
	}
	return max(EthernetMinSize, ethernetBytes+ipv4Bytes+udpBytes+ipv4SignatureBytes+fcsBytes)
}

// DescribeMinimum says what MinimumSize adds up, for an error message.
func DescribeMinimum(packet v1alpha1.Packet) string {
	name, ip, signature := "IPv4", ipv4Bytes, ipv4SignatureBytes
	if packet.IPv6 != nil {
		name, ip, signature = "IPv6", ipv6Bytes, ipv6SignatureBytes
	}
	return fmt.Sprintf("%d Ethernet, %d %s, %d UDP, %d signature, %d FCS", ethernetBytes, ip, name, udpBytes, signature, fcsBytes)
}
