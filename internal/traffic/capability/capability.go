// Package capability declares what each kind of engine can measure, so that a
// benchmark can be refused at admission without opening an engine. An engine
// that is open reports its own Limits, as its ports and options allow. A new capability is a
// member of traffic.Capabilities and a line here for each engine that has it.
package capability

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// trexTimedStreams is the number of streams that TRex servers time at once, regardless of
// their cards' counters ("Per stream latency" of the TRex stateless manual): no two servers of
// a bed assign the same number to a probe.
const trexTimedStreams = 128

var byKind = map[string]traffic.Capabilities{
	"xdp": {
		Limits: traffic.Limits{
			MaxStreams: 65536, MaxFrameSize: frame.MaxSize, MaxMicroflows: traffic.MaxMicroflows,
			LatencyType: "from the transmit program, which writes the frame, to the receive program on the XDP hook (kernel timestamps of one clock): " + traffic.FILO,
		},
		MinFrameSize:    frame.EthernetMinSize,
		PerFrameLatency: true,
		CrossHost:       true,
		Ordering:        true,
		FrameChecks:     true,
		ArrivalTimes:    true,
		Gaps:            true,
		Ethernet:        true,
		Multicast:       true,
		Sampling:        true,
		Capture:         true,
		MPLS:            true,
		ServiceVLANs:    true,
		Tunnels:         true,
		Strides:         true,
		Routing:         true,
		Workloads:       true,
		CustomBytes:     true,
		RoCE:            true,
		CongestionMarks: true,
		Pauses:          true,
	},
	"trex": {
		Limits: traffic.Limits{
			// What every card counts: see For.
			MaxStreams: fewestCounters(), MaxFrameSize: frame.MaxSize,
			SampledLatency: true,
			Lateness:       100 * time.Millisecond,
			LatencyType:    "from the transmit core of TRex, which writes the time into the frame, to its receive core (the processor's clock, of one server), of timed frames that travel among the others: " + traffic.FILO,
		},
		MinFrameSize: frame.EthernetMinSize,
		CrossHost:    true,
		Sampling:     true,
		TimedStreams: trexTimedStreams,
		// In a mode of its own: see ASTF.
		Workloads: true,
	},
	"sim": {
		Limits: traffic.Limits{
			MaxStreams: 65536, MaxFrameSize: frame.MaxSize, MaxMicroflows: traffic.MaxMicroflows,
			LatencyType: "of the type of RFC 1242 that the source of the device model has",
		},
		MinFrameSize:     frame.EthernetMinSize,
		PerFrameLatency:  true,
		CrossHostLatency: true,
		CrossHost:        true,
		Ordering:         true,
		FrameChecks:      true,
		ArrivalTimes:     true,
		Gaps:             true,
		Ethernet:         true,
		Multicast:        true,
		Sampling:         true,
		MPLS:             true,
		ServiceVLANs:     true,
		Tunnels:          true,
		Strides:          true,
		Routing:          true,
		Workloads:        true,
		CustomBytes:      true,
		RoCE:             true,
		CongestionMarks:  true,
	},
}

// Of returns the capabilities of a kind of engine, and whether the kind exists.
func Of(kind string) (traffic.Capabilities, bool) {
	c, ok := byKind[kind]
	return c, ok
}

// Running returns the capabilities of an open engine: the capabilities of its kind, with the
// limits that it reports.
func Running(kind string, l traffic.Limits) traffic.Capabilities {
	c, _ := Of(kind)
	c.Limits = l
	return c
}

// For returns the capabilities of a bed's engine, and whether its kind exists. They depend on
// the kind, and on the mode if the bed chooses one.
func For(engine v1alpha1.Engine) (traffic.Capabilities, bool) {
	c, ok := Of(string(engine.Kind))
	if engine.TRexMode() == v1alpha1.TRexInSoftware {
		if nic, known := NICOf(softwareDriver); known {
			c.MaxStreams = nic.Counters
		}
	}
	return c, ok
}
