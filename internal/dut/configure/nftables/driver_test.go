package nftables_test

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/nftables"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/containertest"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

const rules = "table inet lab {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t\tip saddr 198.18.9.0/24 drop\n\t}\n}\n"

// linux is the packet filter of the kernel, behind OpenSSH.
func linux(t *testing.T) *drivertest.Device {
	l := sshrouter.StartLinux(t)
	l.Load(rules)
	return drivertest.OverSSH(filter(l.Address, l.Running), l.HostKey,
		func(c sshaccess.Config) (configure.Driver, error) { return nftables.New(c) }, "it does not say that it is Linux with nftables")
}

// inContainer is the packet filter of a container of Docker with the programs of this machine, which is Debian as well.
func inContainer(t *testing.T) *drivertest.Device {
	d := containertest.Start(t)
	c := d.RunProgram("dut", []string{"sleep", "infinity"}, "--volume", "/usr:/usr:ro")
	d.RunProgram("other", []string{"sleep", "infinity"})
	c.ExecWith(rules, "nft", "-f", "-")
	return drivertest.InContainer(filter(d.Socket, func() string { return "flush ruleset\n" + c.Exec("nft", "-s", "list", "ruleset") }), "dut", "other",
		nftables.New, "nft: command not found")
}

// filter is a packet filter with an address.
func filter(address string, running func() string) drivertest.Device {
	return drivertest.Device{
		Address: address, Running: running, Other: other,
		Rejected: func(base configure.Configuration) (configure.Configuration, string) {
			const line = "ip daddr 198.18.300.0/24 drop"
			return within(base, "\t\tip saddr 198.18.7.0/24 drop\n\t\t"+line+"\n"), line
		},
		Otherwise: func(base configure.Configuration) (configure.Configuration, string) {
			return within(base, "\t\tip saddr 198.18.9.1/24 drop\n"), "+ table inet lab > chain forward > ip saddr 198.18.9.0/24 drop"
		},
	}
}

// within is the base with further rules at the end of its chain.
func within(base configure.Configuration, rules string) configure.Configuration {
	return configure.Configuration(strings.Replace(string(base), "\t}\n", rules+"\t}\n", 1))
}

// other is the base with further rules.
func other(base configure.Configuration, entries int) configure.Configuration {
	var out strings.Builder
	for i := range entries {
		fmt.Fprintf(&out, "\t\tip daddr 198.19.%d.0/24 drop\n", i)
	}
	return within(base, out.String())
}

// TestDriver takes the kernel's packet filter through everything that may happen to a change.
func TestDriver(t *testing.T) { linux(t).Run(t) }

// TestDriverInContainer does so in a container.
func TestDriverInContainer(t *testing.T) { inContainer(t).Run(t) }

// TestLostConnection cuts the connection at more and more places of a change.
func TestLostConnection(t *testing.T) {
	linux(t).RunLost(t, 250, 2500, 11500)
}
