package agent

// Config tells an agent which ports it owns. The operator writes it as JSON
// into the Secret that is mounted into the traffic pod.
type Config struct {
	// Node is the name of the node, for the report.
	Node string `json:"node"`
	// Ports that the agent owns.
	Ports []PortConfig `json:"ports"`
}

// PortConfig is one port of an agent.
type PortConfig struct {
	// Name of the port in the bed.
	Name string `json:"name"`
	// Interface in the pod.
	Interface string `json:"interface"`
	// SpeedBitsPerSecond is the nominal speed.
	SpeedBitsPerSecond int64 `json:"speedBitsPerSecond"`
	// Addresses with prefix length that the interface gets, the further hosts of
	// the traffic profile among them.
	Addresses []string `json:"addresses,omitempty"`
}
