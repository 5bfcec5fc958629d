// Package server starts and ends a TRex server (v3.08, stateless or with TCP): it
// writes the configuration file from the ports that the pod was given, keeps the
// RPC to the loopback interface, starts the server's own binary without its
// wrapper scripts, waits until the RPC answers and ends the process by its id.
//
// It is used in traffic pods, where the operator writes Config; by nodrop run,
// which starts a server for one benchmark; and by tests.
package server
