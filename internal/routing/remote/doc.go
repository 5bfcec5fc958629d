// Package remote carries the Speaker interface between pods: a server around the speaker of
// an agent, and a client that is a Speaker. Both use the connection of the agent, with its
// mutual TLS, and belong to the session of its controller: when that ends, all BGP
// sessions are closed.
//
// Sets of routes travel as first prefix, count and stride, so that a million routes are
// one small message. Passwords do not travel: the agent has those of its sessions.
package remote
