// Package openvswitch configures the flows of the bridges of Open vSwitch by its programs, which it runs over SSH: one transaction
// for each bridge.
package openvswitch
