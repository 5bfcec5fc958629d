// Package dut brings up virtual devices under test and takes them down again:
// a containerlab topology where a container runtime is at hand, and a Linux
// router or bridge in a network namespace where nothing is.
package dut
