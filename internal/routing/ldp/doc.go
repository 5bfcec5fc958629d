// Package ldp is a speaker of the Label Distribution Protocol (RFC 5036) for one platform-wide
// label space, downstream unsolicited, with FECs of IPv4.
//
// A session begins with an adjacency: both sides send Hello messages by UDP to all routers of
// the link. The side with the greater transport address then connects by TCP. After the
// Initialization and KeepAlive messages, the tester sends its address and the label mappings of
// what it announces, and learns the mappings of the device.
//
// The speaker is downstream of its device: it announces a label for each prefix, as the next
// hop of the device. A device with ordered control (section 2.6.1.2) advertises a label of its
// own for the prefix to all its peers when it has the label of its next hop, so that another
// session receives it. Labels below 16 mean that the device is the end of the path. They are
// not learned.
package ldp
