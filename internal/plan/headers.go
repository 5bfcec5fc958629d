package plan

import (
	"math/rand/v2"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// headers returns the headers that all streams of a profile share: everything but the
// addresses.
func headers(packet v1alpha1.Packet) traffic.Headers {
	var h traffic.Headers
	if packet.Custom != nil {
		h.Custom, _ = frame.CustomBytes(*packet.Custom) // validated before
	}
	source, destination := packet.UDPPorts()
	h.SrcPort, h.SrcPortCount = uint16(source.First), uint32(source.Count)
	h.DstPort, h.DstPortCount = uint16(destination.First), uint32(destination.Count)
	h.Payload = frame.PayloadOf(packet.Payload)
	if packet.MPLS != nil {
		for _, label := range packet.MPLS.Labels {
			h.Labels = append(h.Labels, uint32(label))
		}
	}
	switch {
	case packet.DSCP != nil:
		h.TrafficClass = uint8(*packet.DSCP) << 2
	case packet.IPPrecedence != nil:
		h.TrafficClass = uint8(*packet.IPPrecedence) << 5
	}
	return h
}

// macSeed makes the hardware addresses of a bed the same in every run.
const macSeed = 4814

// firstMAC returns the first MAC address behind a port, by the port's index. The second and
// third octet contain the port's number, so that no two ports share an address. The others
// are pseudorandom (RFC 4814 section 4.2). The address is unicast, and locally administered,
// so that no manufacturer assigns it.
func firstMAC(port int) traffic.MAC {
	rng := rand.New(rand.NewPCG(macSeed, uint64(port)))
	n := rng.Uint32()
	number := port + 1
	return traffic.MAC{byte(n)&^0b11 | 0b10, byte(number >> 8), byte(number), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
}
