// Package method holds the measuring methods, one file each: throughput (RFC
// 2544 section 26.1) and latency (section 26.2). A method decides which trials
// are run for a step of the plan; the Lab runs them: configure, start, hold,
// stop, settle, read, rest (RFC 2544 section 23). A method never knows which
// engine it drives.
//
// A new method is a file of its own that registers itself for its member of the
// API's union of tests.
package method
