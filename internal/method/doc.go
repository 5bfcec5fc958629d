// Package method holds the measuring methods, one file each: throughput (RFC 2544
// section 26.1), latency (26.2), frame loss (26.3), back-to-back bursts (RFC 9004),
// system recovery (RFC 2544 section 26.5), forwarding rates (RFC 2889 sections 5.1
// and 5.6), ordering (RFC 4737), soak. A method decides which trials are run for a step of
// the plan; the Lab runs them: configure, start, hold, stop, settle, read, rest
// (RFC 2544 section 23). A method never knows which engine it drives.
//
// A new method is a file of its own that defines itself for its member of the
// API's union of tests; docs/design/adding-a-method.md shows one.
package method
