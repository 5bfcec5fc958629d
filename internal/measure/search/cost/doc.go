// Package cost compares what searches cost, and how well they find the rate, on a
// simulated noisy device: its loss begins slowly, and some trials are disturbed.
// Everything is a function of seeds. docs/design/search.md says how the
// comparison is set up and which assumption favors whom.
package cost
