package main

import "time"

// engineChecks are the conformance tests of the engine over virtual devices, whose behavior is
// known: a cable, a dropper, a bridge, a router.
var engineChecks = []check{
	{name: "cable", title: "engine: cable", limit: 20 * time.Minute,
		what:   "Exact counts over a veth, exact loss over a dropper of every n-th frame, and the order of frames compared with the definitions of RFC 4737.",
		script: xdpTest("^(TestCounts|TestExactBackToBack|TestExactDropper|TestOrderOfTheExamples|TestFallback)$")},
	{name: "bridge", title: "engine: bridge", limit: 20 * time.Minute,
		what:   "Frames, learning and multicast over a Linux bridge.",
		script: xdpTest("^(TestThroughABridge|TestMulticast)$")},
	{name: "router", title: "engine: router", limit: 20 * time.Minute,
		what:   "IPv4 and IPv6 with and without VLANs over a Linux router.",
		script: xdpTest("^TestRouter$")},
}
