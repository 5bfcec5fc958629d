// Package labsim simulates a lab that many teams share, in simulated time: it makes a trace of
// benchmarks, reservations and maintenance windows, has package queue decide as the operator
// does, and compares its shares and waits with other policies on the same trace.
package labsim
