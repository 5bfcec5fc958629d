// Package controllers sets up the operator: it leases beds to benchmarks one after the
// other, creates device, traffic pods and runner in the lab's namespace, follows
// the measurement, and removes everything again. Each controller is a package of its own below,
// on top of package kit.
//
// A Reconcile is a list of phases, each in a file of its own. They keep no state
// between them: everything is derived from objects of the API, so that the operator
// may die at any moment. Phases read from the API server and not from the cache,
// since they must not act a second time on what they have changed already; the cache
// decides only when to reconcile.
//
// Never two holders: a lease is a field of the bed's status, written under the
// API server's optimistic lock. Never leaked: a benchmark has a finalizer before
// it has a lease, and the bed's controller cleans up after a holder that does
// not exist.
package controllers
