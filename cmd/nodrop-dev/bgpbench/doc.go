// Package bgpbench measures on real routers how fast the speaker of internal/routing/bgp
// announces routes, next to gobgpd. Each injector is a process of its own, so that its
// memory and processor time are seen apart; the receiver is in the measuring process.
package bgpbench
