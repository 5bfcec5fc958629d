// Package groundtruth measures devices of the Linux kernel, of which the true answers follow from
// their settings, by each method with real frames: a token bucket has a known rate and a known queue,
// a rule of nftables drops one frame in a known number. Some testers have faults: others use their
// processors, or a link goes down. It has tests only.
package groundtruth
