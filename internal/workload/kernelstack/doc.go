// Package kernelstack is the workload engine with the TCP stack of the Linux kernel. Each host is a network
// namespace with a macvlan interface on a port of the bed, and an address from the network of the port.
// Hosts exist while a workload runs.
package kernelstack
