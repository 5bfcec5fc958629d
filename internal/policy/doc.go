// Package policy judges test frames by what may leave the ports of a bed: tags,
// labels, groups, addresses, and frames without a network layer.
//
// A rule of the bed's own policy (TestBed spec.policy) holds before one of the lab's
// default policy, and that before the built-in one. The engine sim sends nothing, so
// that only what its bed gives itself holds there. What is judged is what the plan
// sends; frames of the port's own network stack, such as ARP, neighbor discovery and
// membership reports, are not.
package policy
