// Command matrix runs NoDrop in emulated machines with the kernels of several
// distributions and several emulated cards, and prints a table: kernel by check, and card
// by check. Each cell passed, was refused with a message, or failed.
//
//	matrix [-kernels debian12,debian13] [-cards igb,e1000e] [-checks multicast,vlan]
//	    [-jobs 2] [-write PAGE]
//
// It starts the machines by hack/vm/run. What they run is compiled here. All checks of one
// kernel, or of one card, run in one machine after each other.
package main
