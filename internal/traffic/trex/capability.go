package trex

import (
	"strings"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// maxLatencyStreams is how many streams TRex times at once.
const maxLatencyStreams = 128

// latencyType says between which points latency is measured, and how well.
const latencyType = "from the transmit core of TRex, which writes the time into the frame, to its one receive core (the processor's clock, of one server); only on the first streams, as many as are configured as latency streams; minimum to 1 us, maximum to 1 us but for what arrives in the first second, of which the bucket is known, mean and percentiles within the buckets of TRex's histogram, of which each is 1/9 to 1 of its lower bound wide"

// capabilities of an engine whose ports have these counters.
func capabilities(ports []*port) traffic.Capabilities {
	c := traffic.Capabilities{
		MaxStreams:   65536,
		MinFrameSize: frame.EthernetMinSize,
		MaxFrameSize: frame.MaxSize,
		LatencyType:  latencyType,
		// Frames are timed, and their order is known, on latency streams only.
		PerFrameLatency: false,
		Ordering:        false,
		// Each server has a clock of its own.
		CrossHostLatency: false,
		Multicast:        false,
		MPLS:             false,
	}
	for _, p := range ports {
		c.MaxStreams = min(c.MaxStreams, p.RX.Counters)
	}
	return c
}

// drawbacks are what users of TRex found NICs to do, by the beginning of the
// name of their DPDK driver.
var drawbacks = []struct{ driver, note string }{
	{"net_ice", "receive counters per stream are not always right on this NIC (Intel E810), as users of TRex report: compare them with the port's own before a result is believed"},
	{"net_mlx5", "receive counters per stream are not always right on this NIC (NVIDIA ConnectX), as users of TRex report: compare them with the port's own before a result is believed"},
	{"net_af_packet", "the speed that TRex reports for this interface (10 Gbit/s) is not that of the link; frames pass the kernel's packet socket, in TRex's software mode"},
}

// oneCore holds for every NIC.
const oneCore = "all latency streams are received by one core of TRex: their rates together must stay within what it can take"

// notes on what a port cannot do.
func (p *port) notes(latencyStreams int) []string {
	var notes []string
	for _, d := range drawbacks {
		if strings.HasPrefix(p.Driver, d.driver) {
			notes = append(notes, d.note)
		}
	}
	if latencyStreams > 0 {
		notes = append(notes, oneCore)
	}
	for _, a := range p.Addresses {
		if a.Addr().Is6() {
			notes = append(notes, "TRex answers ARP for the port's address, but no neighbour discovery: a device that routes IPv6 to the port needs a fixed neighbour entry")
			break
		}
	}
	return notes
}
