package trex

import (
	"fmt"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
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
		TimedStreams:   maxLatencyStreams,
		LatencyType:    "not measured",
		// Only of frames that are timed is the order known.
		PerFrameLatency: false,
		Ordering:        false,
		// Each server has a clock of its own.
		CrossHostLatency: false,
		CrossHost:        true,
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

// oneCore holds for every NIC.
const oneCore = "the timed frames of all streams are received by one core of TRex: together they must stay within what it can take"

// spoilt holds for every NIC.
const spoilt = "in timed frames of IPv6 TRex writes number and time over the payload, so that their UDP checksum does not hold: a device that forwards does not look at it, one that ends or inspects UDP may drop them"

// untold holds for every NIC.
const untold = "TRex answers ARP for one address of the port and no neighbour discovery: instead gateways are told each address unasked, five times a second (of more than 20 addresses together 100 times, of more than 200 every other second); a device that takes no answers it did not ask for needs fixed neighbour entries"

// notes on what a port cannot do.
func (p *port) notes(timed bool) []string {
	var notes []string
	nic, _ := capability.NICOf(p.Driver)
	for _, d := range nic.Drawbacks {
		notes = append(notes, nic.Models+": "+d.String())
	}
	if timed {
		notes = append(notes, oneCore)
	}
	for _, a := range p.Addresses {
		if a.Addr().Is6() {
			if timed {
				notes = append(notes, spoilt)
			}
			break
		}
	}
	if len(p.Addresses) > 0 {
		notes = append(notes, untold)
	}
	return notes
}
