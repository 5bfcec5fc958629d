package agent

import (
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

// Config tells an agent which ports it owns. The operator writes it as JSON
// into the Secret that is mounted into the traffic pod.
type Config struct {
	// Node is the name of the node, for the report.
	Node string `json:"node"`
	// Ports that the agent owns.
	Ports []PortConfig `json:"ports"`
	// TRex configures the TRex server in the same pod that has the ports. If absent, the
	// agent uses the ports itself, with the engine xdp.
	TRex *TRexConfig `json:"trex,omitempty"`
	// Hosts are the ports on which hosts of workloads run; absent if no test needs them. A TRex server has them itself, and
	// sends no frames then.
	Hosts []workload.Port `json:"hosts,omitempty"`
	// Speaker holds the BGP sessions of the ports; absent when they have none.
	Speaker *SpeakerConfig `json:"speaker,omitempty"`
	// DeviceProcessors are the processors of the node on which a virtual device takes
	// frames from the ports. If empty, the device shares the tester's processors, or is
	// not on this node.
	DeviceProcessors []int `json:"deviceProcessors,omitempty"`
	// Together is the reason why a virtual device on this node has no processors of its
	// own; absent if it has its own, or if there is no virtual device.
	Together string `json:"together,omitempty"`
	// Transmit is the transmit path of the engine xdp on all ports; absent when the engine
	// chooses.
	Transmit string `json:"transmit,omitempty"`
	// SendersPerPort is the number of CPUs that the engine xdp uses to send on each port;
	// absent for 1.
	SendersPerPort int `json:"sendersPerPort,omitempty"`
}

// SpeakerConfig contains what an agent needs before it opens the BGP sessions of its ports.
type SpeakerConfig struct {
	// Passwords of TCP MD5 by session.
	Passwords map[string]routing.Secret `json:"passwords,omitempty"`
}

// TRexConfig describes the TRex server in the same pod to an agent. The first port of the
// configuration is port 0 of the server, and so on.
type TRexConfig struct {
	// Endpoint of the server's RPC, such as tcp://127.0.0.1:4501.
	Endpoint string `json:"endpoint"`
	// TimedFramesPerSecond is the number of frames of each stream that are timed per
	// second.
	TimedFramesPerSecond int `json:"timedFramesPerSecond"`
}

// PortConfig is one port of an agent.
type PortConfig struct {
	// Name of the port in the bed.
	Name string `json:"name"`
	// Interface in the pod.
	Interface string `json:"interface"`
	// SpeedBitsPerSecond is the nominal speed.
	SpeedBitsPerSecond int64 `json:"speedBitsPerSecond"`
	// Addresses with prefix length that the interface gets.
	Addresses []string `json:"addresses,omitempty"`
	// VLANs are the tags of the network that the addresses are in, outermost first.
	VLANs frame.VLANs `json:"vlans,omitempty"`
	// Hosts are further addresses, those of the hosts of the traffic profile; absent
	// when there are none.
	Hosts *Hosts `json:"hosts,omitempty"`
}
