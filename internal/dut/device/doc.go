// Package device says what the device under test of a bed is, and what can be done
// with it.
//
// A bed describes its device in the API, as one of several kinds. Of answers what
// kind it is and which capabilities it has; nobody else asks for the kind, but for
// what a capability says. A Driver brings a device of one kind into the states that a
// benchmark needs. The drivers themselves are in internal/dut, and that of a modelled
// device in internal/traffic/sim.
package device
