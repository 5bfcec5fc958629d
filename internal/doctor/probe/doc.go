// Package probe reads what only a node itself knows of what traffic engines
// need: huge pages, IOMMU, network cards, kernel features. It runs in a pod
// without privilege, capability or host mount, and reads only what is open to
// everybody in /proc and /sys, which are the node's in any pod.
//
// The kernel's lockdown is not read: it is told in securityfs, which pods do not
// have.
package probe
