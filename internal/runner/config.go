package runner

import "nodrop.dev/nodrop/api/v1alpha1"

// Config is everything that a run needs; the operator writes it as JSON into a
// Secret that is mounted into the runner pod.
type Config struct {
	// Benchmark, Profile and Bed as they were when the bed was leased.
	Benchmark v1alpha1.Benchmark      `json:"benchmark"`
	Profile   v1alpha1.TrafficProfile `json:"profile"`
	Bed       v1alpha1.TestBed        `json:"bed"`
	// Model is the text of the device model; only with the engine sim.
	Model string `json:"model,omitempty"`
	// Agents drive the bed's ports; empty with the engine sim.
	Agents []AgentEndpoint `json:"agents,omitempty"`
	// Rows were finished by an earlier runner of the same benchmark, and are not
	// measured again.
	Rows []v1alpha1.ResultRow `json:"rows,omitempty"`
}

// AgentEndpoint is where one agent listens.
type AgentEndpoint struct {
	// Name is the DNS name in the agent's certificate.
	Name string `json:"name"`
	// Address is host:port.
	Address string `json:"address"`
	// Ports of the bed that the agent owns.
	Ports []string `json:"ports"`
}
