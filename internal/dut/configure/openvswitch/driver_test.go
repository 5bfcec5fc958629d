package openvswitch_test

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/openvswitch"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// device is Debian's Open vSwitch behind OpenSSH.
func device(t *testing.T) *drivertest.Device {
	o := sshrouter.StartOpenVSwitch(t)
	o.Run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", sshrouter.Bridge, "priority=0,actions=NORMAL")
	return drivertest.OverSSH(drivertest.Device{
		Address: o.Address, Running: o.Flows, Other: other,
		Rejected: func(base configure.Configuration) (configure.Configuration, string) {
			const flow = "ip,nw_dst=198.18.7.0/nine actions=drop"
			return other(base, 20) + flow + "\n", flow
		},
		Otherwise: func(base configure.Configuration) (configure.Configuration, string) {
			return base + "ip,nw_dst=198.18.9.1/24 actions=drop\n", "+ br0: ip,nw_dst=198.18.9.0/24 actions=drop"
		},
	}, o.HostKey, func(c sshaccess.Config) (configure.Driver, error) { return openvswitch.New(c) }, "it does not say that it has Open vSwitch")
}

// other is the base with further flows.
func other(base configure.Configuration, entries int) configure.Configuration {
	var out strings.Builder
	for i := range entries {
		fmt.Fprintf(&out, "ip,nw_dst=198.19.%d.0/24 actions=drop\n", i)
	}
	c, err := openvswitch.Language{}.Parse(string(base) + out.String())
	if err != nil {
		panic(err)
	}
	return c
}

// TestDriver takes Open vSwitch through everything that may happen to a change.
func TestDriver(t *testing.T) { device(t).Run(t) }

// TestLostConnection cuts the connection at more and more places of a change.
func TestLostConnection(t *testing.T) {
	longtest.Skip(t, "TestLostConnection of nftables, over the same sessions")
	device(t).RunLost(t, 200, 2500, 11500)
}
