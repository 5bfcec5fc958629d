// Package gnmi configures devices with gNMI, whatever their YANG modules are: one Set for a change, which the device carries out
// whole or not at all.
package gnmi
