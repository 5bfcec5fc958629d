package sshcli_test

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// frr is FRR behind OpenSSH.
func frr(t *testing.T) *drivertest.Device {
	r := sshrouter.Start(t)
	return drivertest.OverSSH(drivertest.Device{
		Address: r.Address, Running: r.Running, Other: other, Secret: "hunter2",
		Rejected: rejected, Otherwise: otherwise,
	}, r.HostKey, func(c sshaccess.Config) (configure.Driver, error) { return sshcli.New(sshcli.FRR, c) }, "shows no prompt of FRR within 2s")
}

// rejected is a configuration with a line that FRR rejects.
func rejected(base configure.Configuration) (configure.Configuration, string) {
	const line = "ip route 198.18.300.0/24 198.18.1.9"
	return other(base, 20) + line + "\nip route 198.18.7.0/24 198.18.1.9\n", line
}

// otherwise is a configuration that FRR reports in other words.
func otherwise(base configure.Configuration) (configure.Configuration, string) {
	return other(base, 3) + "ip route 198.18.9.1/24 198.18.1.9\n", "+ ip route 198.18.9.0/24 198.18.1.9"
}

// other is the base with other routes, an ACL, another neighbor and a password.
func other(base configure.Configuration, entries int) configure.Configuration {
	var out strings.Builder
	for i := range entries {
		fmt.Fprintf(&out, "access-list filter seq %d deny 198.18.%d.0/24\n", 5*(i+1), i)
	}
	out.WriteString(strings.NewReplacer(
		"ip route 198.18.100.0/24 198.18.1.9\n", "ip route 198.18.101.0/24 198.18.1.9\n",
		" neighbor 198.18.1.2 remote-as 65002\n", " neighbor 198.18.1.3 remote-as 65003\n neighbor 198.18.1.3 password hunter2\n",
	).Replace(string(base)))
	return configure.Configuration(out.String())
}

// TestDriver takes FRR behind OpenSSH through everything that may happen to a change.
func TestDriver(t *testing.T) { frr(t).Run(t) }

// TestLostConnection cuts the connection to FRR at more and more places of a change.
func TestLostConnection(t *testing.T) {
	frr(t).RunLost(t, 60, 2500, 9500)
}
