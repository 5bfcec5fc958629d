// Package method holds the measuring methods, one file each: throughput (RFC 2544
// section 26.1), latency (26.2), frame loss (26.3), back-to-back bursts (RFC 9004),
// system recovery (RFC 2544 section 26.5), forwarding rates (RFC 2889 sections 5.1
// and 5.6), ordering (RFC 4737), soak, multicast (RFC 3918). Package controlplane holds the methods
// about routes and sessions. A method decides which trials are run for a step of the plan; package
// trials runs them. A method never knows which engine it drives.
//
// A new method is a file of its own with its definition, and a line in list.go;
// docs/design/adding-a-method.md shows one.
package method
