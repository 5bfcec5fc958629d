// Package netconf configures devices by NETCONF (RFC 6241) over SSH (RFC 6242): a change is made in the candidate,
// committed until it is confirmed, read back, and confirmed. A device whose change is not confirmed takes it back by itself.
package netconf
