// Package policy judges test frames by what may leave the ports of a bed: tags,
// labels, groups, addresses, and frames without a network layer.
//
// A rule of the bed's own policy (TestBed spec.policy) takes precedence over one of the
// lab's default policy, and that over the built-in one. The engine sim sends nothing, so
// only the bed's own policy applies there. The frames of the plan are judged; frames of the port's own network stack, such as ARP, neighbor discovery and
// membership reports, are not.
package policy
