package trex

import (
	"fmt"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// maxLatencyStreams is how many streams TRex times at once, on all ports together.
const maxLatencyStreams = 128

// latencyType says which frames are timed, between which points and how well. What a
// server without --hdrh tells is in docs/design/trex-engine.md.
const latencyType = "of %s frames per second of each stream, or all where it has fewer, from TRex's transmit core to its receive core (the processor's clock, of one server), to 1 us or 0.1 %%; coarser of servers without --hdrh"

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
		// As long as Wait gives a port that is late.
		Lateness:  graceBase,
		Multicast: false,
		Sampling:  true,
		MPLS:      false,
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
const oneCore = "one core of TRex receives the timed frames of all streams, and must keep up with them"

// spoilt holds for every NIC.
const spoilt = "in timed frames of IPv6 TRex writes number and time over the payload, so that their UDP checksum does not hold: a device that forwards does not look at it, one that ends or inspects UDP may drop them"

// untold holds for every NIC.
const untold = "TRex answers ARP for one address of the port and no neighbour discovery: instead gateways are told each address unasked, five times a second (of more than 20 addresses together 100 times, of more than 200 every other second); a device that takes no answers it did not ask for needs fixed neighbour entries"

// notes on what a port cannot do.
func (p *port) notes(timed bool) []string {
	var notes []string
	nic, _ := capability.NICOf(p.Driver)
	if len(nic.Drawbacks) > 0 {
		notes = append(notes, nic.Models+": "+nic.Told())
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

// remedy is what helps a port that lost frames itself.
func (p *port) remedy() string {
	if capability.InSoftware(p.Driver) {
		return "lower the load, or give engine.trex.software.ringFrames more"
	}
	return "lower the load, or give engine.trex.cpus more"
}
