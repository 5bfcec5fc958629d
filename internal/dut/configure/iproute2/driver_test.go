package iproute2_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/iproute2"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// start starts a Linux router behind OpenSSH, with an interface and a route.
func start(t *testing.T) *sshrouter.Linux {
	l := sshrouter.StartLinux(t)
	for _, command := range []string{
		"ip link add e1 type veth peer name e2", "ip link set e1 up", "ip link set e2 up", "ip address add 198.18.1.1/24 dev e1",
		"ip route add 198.18.100.0/24 via 198.18.1.9",
	} {
		l.Run(strings.Fields(command)...)
	}
	return l
}

// linux is the routes of the kernel.
func linux(t *testing.T) *drivertest.Device {
	l := start(t)
	return drivertest.OverSSH(drivertest.Device{
		Address: l.Address, Running: l.Routes, Other: other,
		Rejected: func(base configure.Configuration) (configure.Configuration, string) {
			const line = "ip -4 route add 198.19.9.0/24 via 198.19.77.7 dev e1"
			return other(base, 8) + line + "\n", line
		},
		Otherwise: func(base configure.Configuration) (configure.Configuration, string) {
			return base + "ip -4 route add 198.18.9.0/24 via 198.18.1.9\n", "+ ip -4 route add 198.18.9.0/24 via 198.18.1.9 dev e1"
		},
	}, l.HostKey, func(c sshaccess.Config) (configure.Driver, error) { return iproute2.New(c) }, "it does not say that it is Linux with iproute2")
}

// other is the base with further routes.
func other(base configure.Configuration, entries int) configure.Configuration {
	var out strings.Builder
	for i := range entries {
		fmt.Fprintf(&out, "ip -4 route add 198.19.%d.0/24 via 198.18.1.9 dev e1\n", i)
	}
	c, err := iproute2.Language{}.Parse(string(base) + out.String())
	if err != nil {
		panic(err)
	}
	return c
}

// TestDriver takes the routes of the kernel through everything that may happen to a change.
func TestDriver(t *testing.T) { linux(t).Run(t) }

// TestLostConnection cuts the connection at more and more places of a change.
func TestLostConnection(t *testing.T) {
	linux(t).RunLost(t, 100, 2500, 7000)
}

// TestUnreadable names the line that ip cannot read, of which it prints no number, and takes the lines before it back.
func TestUnreadable(t *testing.T) {
	l := start(t)
	driver, err := iproute2.New(l.Access())
	if err != nil {
		t.Fatal(err)
	}
	before := l.Routes()
	base, err := driver.Language().Parse(before)
	if err != nil {
		t.Fatal(err)
	}
	const line = "ip -4 route add 198.19.300.0/24 via 198.18.1.9 dev e1"
	want := other(base, 5) + line + "\n"
	record, err := configure.Apply(t.Context(), driver, want, time.Minute)
	var rejected *configure.RejectedError
	if !errors.As(err, &rejected) || rejected.Command != line || !strings.Contains(rejected.Text, `prefix is expected rather than "198.19.300.0/24"`) || !record.RolledBack {
		t.Errorf("%v, rolled back: %v", err, record.RolledBack)
	}
	if after := l.Routes(); after != before {
		t.Errorf("the device has\n%s\nwant\n%s", after, before)
	}
}

// TestFamilies adds, replaces and removes routes of both families and of several kinds.
func TestFamilies(t *testing.T) {
	l := start(t)
	l.Run("ip", "address", "add", "2001:2:0:1::1/64", "dev", "e1", "nodad")
	driver, err := iproute2.New(l.Access())
	if err != nil {
		t.Fatal(err)
	}
	before, err := configure.Read(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	first := before + `ip -4 route add 198.18.10.0/24 proto static nexthop via 198.18.1.8 dev e1 weight 1 nexthop via 198.18.1.9 dev e1 weight 2
ip -4 route add 198.18.7.0/24 via 198.18.200.9 dev e1
ip -4 route add 198.18.200.0/24 dev e1 scope link
ip -4 route add blackhole 198.18.11.0/24
ip -6 route add 2001:2:0:9::/64 via 2001:2:0:1::9 dev e1 proto static metric 1024 pref medium
`
	second := before + `ip -4 route add 198.18.10.0/24 via 198.18.1.8 dev e1 proto static
ip -4 route add blackhole 198.18.11.0/24 metric 7
ip -6 route add 2001:2:0:9::/64 via 2001:2:0:1::8 dev e1 proto static metric 1024 pref medium
ip -6 route add unreachable 2001:2:0:a::/64 dev lo metric 1024 pref medium
`
	for _, want := range []configure.Configuration{first, second, first, before} {
		if _, err := configure.Apply(t.Context(), driver, want, time.Minute); err != nil {
			t.Errorf("%v, to get\n%s", err, want)
		}
	}
	if after, err := configure.Read(t.Context(), driver); err != nil || after != before {
		t.Errorf("%v: the device has\n%s\nwant\n%s", err, after, before)
	}
}
