// Package bfd is bidirectional forwarding detection as a tester needs it next to a BGP
// session: asynchronous mode without echo and authentication (RFC 5880), single hop over
// UDP (RFC 5881). The packets are read and written by gobgp's codec.
//
// machine is the state machine, without clock and network; Session runs it.
package bfd
