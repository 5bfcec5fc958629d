// Package kit has what the controllers of the operator share: a base with client, clock and
// options, the state of a reconcile, conditions, timers, leases of beds, pods and finalizers.
package kit
