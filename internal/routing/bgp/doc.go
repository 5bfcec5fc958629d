// Package bgp is a routing.Speaker in this process: BGP-4 (RFC 4271) over TCP from the
// network namespaces of the ports, one connection per session.
//
// It always connects to the device and never listens, so that connections do not collide.
// Routes are written as UPDATE messages that are as full as they can be, and made from
// the sets when they are needed: neither messages nor routes are kept. What the device
// advertises is kept as one digest per prefix.
//
// A session that goes down is opened again, and gets what was announced on it again. A
// malformed message ends it (RFC 4271, section 6); what RFC 7606 would have a router
// overlook is a finding of a test.
package bgp
