// Package router is the device's side of the tester's sessions: its configuration in the
// languages of several routers, and FRR and BIRD as processes in a network namespace.
package router
