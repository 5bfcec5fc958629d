// Package capability declares what each kind of engine can measure, so that a
// benchmark can be refused at admission without opening an engine. An engine
// reports the same declaration in its Info.
package capability

import "nodrop.dev/nodrop/internal/traffic"

var byKind = map[string]traffic.Capabilities{
	"xdp": {
		MaxStreams:      4096,
		MinFrameSize:    64,
		MaxFrameSize:    3498,
		PerFrameLatency: true,
		Ordering:        true,
		LatencyType:     "software timestamps: from the frame being written for sending to its arrival in the receiving port's XDP program",
	},
	"sim": {
		MaxStreams:       65536,
		MinFrameSize:     64,
		MaxFrameSize:     9216,
		PerFrameLatency:  true,
		CrossHostLatency: true,
		Ordering:         true,
		LatencyType:      "as in the device model",
	},
}

// Of returns the capabilities of a kind of engine, and whether the kind exists.
func Of(kind string) (traffic.Capabilities, bool) {
	c, ok := byKind[kind]
	return c, ok
}
