// Package iproute2 configures the routes of a Linux device, with the labels that they add, swap and remove (MPLS), by ip, which it runs
// over SSH.
package iproute2
