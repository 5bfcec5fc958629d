// Package nftables configures the packet filter of a Linux device over SSH. The kernel replaces all rules in one
// transaction: a device has the rules from before or the new ones, and no packet meets a part of both.
package nftables
