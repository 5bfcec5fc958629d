// Package routing is the control plane of the tester: speakers that peer with the
// device, announce routes to it, and learn what it advertises.
//
// A Speaker is no traffic generator. It runs where the ports are, next to the engine,
// and is driven by the same run. What a bed's sessions are is given by the bed, what is
// announced by the traffic profile, and when it happens by the method.
//
//	bgp     speakers in this process: a session of their own with packed UPDATE messages
//	bfd     bidirectional forwarding detection next to these sessions
//	sim     a model of the device's routing table, in simulated time
//	remote  the speakers of agents, over gRPC
package routing
