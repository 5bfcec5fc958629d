package server

// Config describes the server to start. The operator writes it as JSON into
// the Secret that is mounted into the traffic pod.
type Config struct {
	// Dir holds the server's binary, _t-rex-64, and what it loads.
	Dir string `json:"dir"`
	// Ports of the server, in the order of their numbers.
	Ports []Port `json:"ports"`
	// Software runs on packet sockets, without huge pages; nil for DPDK drivers.
	Software *Software `json:"software,omitempty"`
	// HugePagesMiB is the memory in huge pages that the server may take, in MiB; 0 with
	// Software.
	HugePagesMiB int `json:"hugePagesMiB,omitempty"`
	// Shared reports whether the server shares its processors with other programs, as in a
	// run without a cluster. If there are fewer processors than threads, all threads then
	// share one processor. The watchdog is off.
	Shared bool `json:"shared,omitempty"`
	// ASTF runs the server in its mode with TCP, with one processor that sends: hosts with connections instead of
	// streams.
	ASTF bool `json:"astf,omitempty"`
	// RPCPort is the port on which the server answers, on loopback only. The server
	// publishes on the port below it.
	RPCPort int `json:"rpcPort"`
}

// Port is one port of the server.
type Port struct {
	// Name of the port in the bed.
	Name string `json:"name"`
	// Interface of the pod, for packet sockets. A card that is bound to the kernel's
	// driver has it too.
	Interface string `json:"interface,omitempty"`
	// Resource is the device plugin's name for the card; its PCI address is in the
	// environment variable that the plugin makes of that name. Ports with the same
	// resource take its addresses in order.
	Resource string `json:"resource,omitempty"`
}

// Software holds the settings of packet sockets.
type Software struct {
	// RingFrames is the number of frames that the ring holds per port and direction.
	RingFrames int `json:"ringFrames"`
}
