// Package plan turns Benchmark, TrafficProfile and TestBed into what a run does:
// ports, streams and steps. It is a pure function of the three objects, so that
// the admission webhook, the operator, the runner and a run without a cluster
// all come to the same plan, or to the same refusal.
package plan
