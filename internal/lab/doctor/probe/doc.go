// Package probe reads what traffic engines need and only the node shows: huge
// pages, IOMMU, network cards, kernel features. It runs in a pod without
// privilege, capability or host mount, and reads only world-readable files in
// /proc and /sys, which are the node's in any pod.
//
// The kernel's lockdown is not read: it is in securityfs, which pods do not have.
package probe
