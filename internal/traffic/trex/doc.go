// Package trex drives a TRex server (v3.08, stateless, API 5.1) as a traffic
// engine, over its JSON-RPC on ZeroMQ.
//
// ASTF drives a server in its mode with TCP (API ASTF 2.3), as a workload engine.
//
// The server does not always behave as documented; each file names the deviation that it works
// around. Info declares what TRex cannot measure, and a Measurement leaves it out: duplicates
// and order are known only for latency streams, and jitter as defined by RFC 4689 for no
// stream.
//
// A trial adds its streams to the server again, so that every counter begins at
// zero: TRex's counters continue from run to run, its extremes of latency cannot be
// subtracted, and the rate is a property of the stream.
package trex
