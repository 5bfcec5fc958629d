// Package card reads and changes settings of network interfaces: pause frames, receive
// side scaling, offloads, rings, channels and interrupt coalescing.
//
// It is the owner of what a tester changes at an interface. Hold keeps a record of each
// setting before it changes it, in the alias of the interface (ip link show). The record is
// as lasting as the setting: it survives the process, the pod and a move to another network
// namespace, and ends with a restart of the machine. Who holds the interface next takes over
// the record of a process that was killed, and Recover restores what the record contains.
//
// All functions work in the network namespace of the calling thread and need
// CAP_NET_ADMIN.
package card
