package netconf_test

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/netconf"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// server is Debian's netconfd behind OpenSSH.
func server(t *testing.T) *drivertest.Device {
	n := sshrouter.StartNETCONF(t)
	return drivertest.OverSSH(drivertest.Device{
		Address: n.Address, Running: n.Running, Other: other,
		Rejected: func(base configure.Configuration) (configure.Configuration, string) {
			return configure.Configuration(strings.Replace(string(other(base, 20)), "198.18.7.1", "198.18.300.1", 1)), "edit-config"
		},
	}, n.HostKey, netconf.New, "it does not say hello as a NETCONF server")
}

// other is the base with interfaces.
func other(base configure.Configuration, entries int) configure.Configuration {
	var out strings.Builder
	out.WriteString(`<interfaces xmlns="urn:ietf:params:xml:ns:yang:ietf-interfaces">` + "\n")
	for i := range entries {
		fmt.Fprintf(&out, `<interface><name>e%03[1]d</name><type xmlns:ianaift="urn:ietf:params:xml:ns:yang:iana-if-type">ianaift:ethernetCsmacd</type>`+
			`<ipv4 xmlns="urn:ietf:params:xml:ns:yang:ietf-ip"><address><ip>198.18.%[1]d.1</ip><prefix-length>24</prefix-length></address></ipv4></interface>`+"\n", i)
	}
	out.WriteString("</interfaces>\n")
	c, _ := netconf.Language{}.Parse(out.String() + string(base))
	return c
}

// TestDriver takes netconfd through everything that may happen to a change.
func TestDriver(t *testing.T) { server(t).Run(t) }

// TestLostConnection cuts the connection at more and more places of a change.
func TestLostConnection(t *testing.T) {
	server(t).RunLost(t, 20, 2500, 13500)
}
