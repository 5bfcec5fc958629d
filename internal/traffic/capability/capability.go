// Package capability declares what each kind of engine can measure, so that a
// benchmark can be refused at admission without opening an engine. An engine
// that is open may report less in its Info, as its ports allow.
package capability

import "nodrop.dev/nodrop/internal/traffic"

var byKind = map[string]traffic.Capabilities{
	"xdp": {
		MaxStreams:      65536,
		MinFrameSize:    64,
		MaxFrameSize:    9216,
		PerFrameLatency: true,
		Ordering:        true,
		Multicast:       true,
		MPLS:            true,
		LatencyType:     "from the transmit program, which writes the frame, to the receive program on the XDP hook (kernel timestamps of one clock)",
	},
	"trex": {
		// One counter less than the smallest card's: see the engine's Info.
		MaxStreams:     127,
		MinFrameSize:   64,
		MaxFrameSize:   9216,
		SampledLatency: true,
		LatencyType:    "from the transmit core of TRex, which writes the time into the frame, to its receive core (the processor's clock, of one server), of timed frames that travel among the others",
	},
	"sim": {
		MaxStreams:       65536,
		MinFrameSize:     64,
		MaxFrameSize:     9216,
		PerFrameLatency:  true,
		CrossHostLatency: true,
		Ordering:         true,
		Multicast:        true,
		MPLS:             true,
		LatencyType:      "as in the device model",
	},
}

// Of returns the capabilities of a kind of engine, and whether the kind exists.
func Of(kind string) (traffic.Capabilities, bool) {
	c, ok := byKind[kind]
	return c, ok
}
