// Package xdpbench measures the engine xdp against a bare loop of live frames, in network
// namespaces of its own: how many frames per second it sends and receives, through which
// devices, and how constant a load it keeps. Rates depend on the machine; compare the shares
// of the bare loop's rate.
package xdpbench
