package trex

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// maxLatencyStreams is how many streams TRex times at once, on all ports together.
const maxLatencyStreams = 128

// latencyType says which frames are timed, between which points and how well.
const latencyType = "of %s frames per second of each stream, or all where it has fewer, which travel among the others and count as they do (of more than 128 streams at once, of 128); from the transmit core of TRex, which writes the time into the frame, to its one receive core (the processor's clock, of one server); to 1 us or 0.1 %%, whichever is more, of a server that runs with --hdrh; of another, minimum to 1 us, maximum to 1 us but for what arrives in the first second, of which the bucket is known, mean and percentiles within the buckets of TRex's histogram, of which each is 1/9 to 1 of its lower bound wide"

// capabilities of an engine with these ports, of whose streams so many frames per
// second are timed.
func capabilities(ports []*port, timed int) traffic.Capabilities {
	c := traffic.Capabilities{
		MaxStreams:     maxStreams(ports),
		MinFrameSize:   frame.EthernetMinSize,
		MaxFrameSize:   frame.MaxSize,
		SampledLatency: timed > 0,
		LatencyType:    "not measured",
		// Only of frames that are timed is the order known.
		PerFrameLatency: false,
		Ordering:        false,
		// Each server has a clock of its own.
		CrossHostLatency: false,
		Multicast:        false,
		MPLS:             false,
	}
	if timed > 0 {
		c.LatencyType = fmt.Sprintf(latencyType, traffic.Grouped(timed))
	}
	return c
}

// maxStreams is how many streams can be counted: as many as the port with fewest
// counters has. Probes take none of those, but one of maxLatencyStreams.
func maxStreams(ports []*port) int {
	most := maxStreamID + 1
	for _, p := range ports {
		most = min(most, p.RX.Counters)
	}
	return most
}

// drawbacks are what users of TRex found NICs to do, by the beginning of the
// name of their DPDK driver.
var drawbacks = []struct{ driver, note string }{
	{"net_ice", "receive counters per stream are not always right on this NIC (Intel E810), as users of TRex report: compare them with the port's own before a result is believed"},
	{"net_mlx5", "receive counters per stream are not always right on this NIC (NVIDIA ConnectX), as users of TRex report: compare them with the port's own before a result is believed"},
	{"net_af_packet", "the speed that TRex reports for this interface (10 Gbit/s) is not that of the link; frames pass the kernel's packet socket, in TRex's software mode"},
}

// oneCore holds for every NIC.
const oneCore = "the timed frames of all streams are received by one core of TRex: together they must stay within what it can take"

// spoilt holds for every NIC.
const spoilt = "in timed frames of IPv6 TRex writes number and time over the payload, so that their UDP checksum does not hold: a device that forwards does not look at it, one that ends or inspects UDP may drop them"

// notes on what a port cannot do.
func (p *port) notes(timed bool) []string {
	var notes []string
	for _, d := range drawbacks {
		if strings.HasPrefix(p.Driver, d.driver) {
			notes = append(notes, d.note)
		}
	}
	if timed {
		notes = append(notes, oneCore)
	}
	for _, a := range p.Addresses {
		if a.Addr().Is6() {
			if timed {
				notes = append(notes, spoilt)
			}
			notes = append(notes, "TRex answers ARP for the port's address, but no neighbour discovery: a device that routes IPv6 to the port needs a fixed neighbour entry")
			break
		}
	}
	return notes
}
