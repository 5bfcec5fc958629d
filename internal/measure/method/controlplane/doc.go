// Package controlplane holds the measuring methods about routes and BGP sessions of the device:
// convergence (terms of RFC 7747), route capacity, flapping routes, route refresh, restarts of BGP,
// and the number of sessions.
package controlplane
