// Package trex drives a TRex server (v3.08, stateless, API 5.1) as a traffic
// engine, over its JSON-RPC on ZeroMQ.
//
// The server does what it was found to do, not always what it says; each file
// names the trap that it avoids. What TRex cannot measure is declared in Info
// and left out of a Measurement, never made up: duplicates and order are known
// of latency streams only, jitter in the sense of RFC 4689 of none.
//
// A trial puts its streams into the server anew, so that every counter begins at
// zero: TRex's counters go on from run to run, its extremes of latency cannot be
// subtracted, and the rate belongs to the stream.
package trex
