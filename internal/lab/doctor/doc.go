// Package doctor says what a cluster, or one bed of it, lacks for each traffic
// engine. It judges facts and makes no calls: package look gathers them from the
// cluster, and package probe on the nodes.
//
// Each check is a function that examines one thing and returns what it found and what
// to do. What could not be read is Unknown, never Good.
package doctor
