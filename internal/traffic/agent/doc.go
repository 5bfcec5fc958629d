// Package agent carries the Generator interface between pods: a server around a
// local engine, a client that is a Generator, and a fleet that joins several
// clients into one. The transport is gRPC with mutual TLS; certificates are
// issued for one benchmark and die with it.
package agent
