// Package dut has the drivers of virtual devices under test, which bring them up and
// take them down again: a containerlab topology where a container runtime is at hand,
// and a Linux router or bridge in a network namespace where nothing is. What a driver
// is, and what kinds of devices there are, says package device.
package dut
