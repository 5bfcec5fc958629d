// Package histories runs the operator through random histories, and checks what must
// hold in each of them: no bed has two holders, none is leased that would not be free
// before a reservation, none is leaked, none is quarantined without a reason, and no row is
// lost or measured twice.
//
// A history is a list of events that a seed decides: people of three teams create, abort,
// delete, edit and reserve, the LabPolicy changes, pods are lost, operators die at any
// write, two of them lead for a moment, and their clocks differ. One generator drives two
// worlds. In the first everything that SetupWithManager starts runs in a bubble of
// testing/synctest with simulated time, on an API that is kept in memory and a cache that
// lags behind it. In the second, the same code runs as in a cluster on a real API server.
//
// A test that fails prints the seed; HISTORY_SEED=n runs it alone.
package histories
