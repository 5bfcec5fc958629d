// Package doctor says what a cluster, or one bed of it, lacks for each traffic
// engine. It judges facts and asks nobody: package look gathers them from the
// cluster, and package probe on the nodes.
//
// Each check is a function that looks at one thing and says what it saw and what
// to do. What could not be seen is Unknown, never taken as good.
package doctor
