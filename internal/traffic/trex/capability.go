package trex

import (
	"fmt"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// maxLatencyStreams is the number of streams that TRex times at once, on all ports together.
const maxLatencyStreams = 128

// latencyType describes which frames are timed, between which points and how exactly.
// docs/design/trex-counting.md describes the latency of a server without --hdrh.
const latencyType = "of %s frames per second of each stream, or all where it has fewer, from TRex's transmit core to its receive core (the processor's clock, of one server), to 1 us or 0.1 %%; coarser of servers without --hdrh: " + traffic.FILO

// capabilities of an engine with these ports, of whose streams so many frames per
// second are timed.
func capabilities(ports []*port, timed int) traffic.Capabilities {
	c, _ := capability.Of("trex")
	c.MaxStreams = maxStreams(ports)
	c.SampledLatency = timed > 0
	// The grace of Wait for a late port.
	c.Lateness = graceBase
	c.LatencyType = "not measured"
	if timed > 0 {
		c.LatencyType = fmt.Sprintf(latencyType, traffic.Grouped(timed))
	}
	return c
}

// maxStreams returns the number of streams that can be counted: the counters of the port that
// has fewest. Probes use none of these counters, but one of maxLatencyStreams.
func maxStreams(ports []*port) int {
	most := maxStreamID + 1
	for _, p := range ports {
		most = min(most, p.RX.Counters)
	}
	return most
}

// oneCore is a note for every NIC.
const oneCore = "one core of TRex receives the timed frames of all streams, and must keep up with them"

// badChecksum is a note for every NIC.
const badChecksum = "TRex writes number and time into the payload of timed IPv6 frames, so that their UDP checksum is wrong: a device that only forwards does not check it, one that ends or inspects UDP may drop them"

// unsolicited is a note for every NIC.
const unsolicited = "TRex answers ARP for one address of the port and no neighbor discovery: instead the engine announces each address to the gateways five times a second (more than 20 addresses together 100 times a second, each of more than 200 every other second); a device that ignores unsolicited answers needs static neighbor entries"

// notes on what a port cannot do.
func (p *port) notes(timed bool) []string {
	var notes []string
	nic, _ := capability.NICOf(p.Driver)
	if len(nic.Drawbacks) > 0 {
		notes = append(notes, nic.Models+": "+nic.Text())
	}
	if timed {
		notes = append(notes, oneCore)
	}
	for _, a := range p.Addresses {
		if a.Addr().Is6() {
			if timed {
				notes = append(notes, badChecksum)
			}
			break
		}
	}
	if len(p.Addresses) > 0 {
		notes = append(notes, unsolicited)
	}
	return notes
}

// remedy is the advice for a port that dropped frames itself.
func (p *port) remedy() string {
	if capability.InSoftware(p.Driver) {
		return "lower the load, or raise engine.trex.software.ringFrames"
	}
	return "lower the load, or raise engine.trex.cpus"
}
