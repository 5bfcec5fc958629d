// Package device describes the device under test of a bed, and what can be done with it.
//
// A bed describes its device in the API, as one of several kinds. Of returns its kind and its
// capabilities; other packages do not ask for the kind, but for a capability. A Driver brings
// a device of one kind into the states that a benchmark needs. The drivers themselves are in
// internal/dut, and that of a modeled device in internal/traffic/sim.
package device
