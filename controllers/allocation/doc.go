// Package allocation leases beds to benchmarks: it keeps a view of beds, benchmarks, reservations
// and policies, decides by package queue who gets which bed, and computes for people where each
// waiting benchmark stands.
//
// The view has a part for each topic: inventory (beds, benchmarks and holders), teams (policy and
// namespaces), judge (which beds fit), calendar (reservations), ended and shares (what teams have
// had), gangs, and line (the queue). Allocator runs the cycle: it applies changes from the inbox
// to the view, and has grants, preemption and parts write leases, and display write the status.
package allocation
