package gnmi_test

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmi"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/gnmitarget"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// target is gnxi's gNMI target.
func target(t *testing.T) *drivertest.Device {
	g := gnmitarget.Start(t, `{"openconfig-system:system": {"config": {"hostname": "leaf-1"}}}`)
	driver := func(address string, wrong drivertest.Wrong) (configure.Driver, error) {
		c, err := gnmiaccess.ReadConfig(configure.Reach{Address: address, Key: g.Key, Timeout: drivertest.Patience})
		if err != nil {
			return nil, err
		}
		if wrong.Password {
			c.Password = "wrong"
		}
		if wrong.Identity {
			c.Certificates = gnmitarget.OtherCertificate(t)
		}
		return gnmi.New(c)
	}
	return &drivertest.Device{
		Address: g.Address, Running: g.Running, Other: other, New: driver,
		Rejected: func(base configure.Configuration) (configure.Configuration, string) {
			return configure.Configuration(strings.Replace(string(other(base, 20)), `"mtu": 1507`, `"mtu": 70000`, 1)), "set"
		},
		Secret:   "hunter2",
		Identity: "which is not among certificates",
		NoDevice: func(t *testing.T) (configure.Driver, string) {
			other, err := driver(sshrouter.Serve(t, "/bin/cat").Address, drivertest.Wrong{})
			if err != nil {
				t.Fatal(err)
			}
			return other, "it does not speak TLS"
		},
	}
}

// other is the base with interfaces and a user with a password.
func other(base configure.Configuration, entries int) configure.Configuration {
	var interfaces []string
	for i := range entries {
		interfaces = append(interfaces, fmt.Sprintf(`{"name": "e%03[1]d", "config": {"name": "e%03[1]d", "mtu": %[2]d, "enabled": true}}`, i, 1500+i))
	}
	const system, user = `"openconfig-system:system": {`, `{"username": "probe", "config": {"username": "probe", "password": "hunter2"}}`
	text := strings.Replace(strings.TrimSpace(string(base)), system, system+`"aaa": {"authentication": {"users": {"user": [`+user+`]}}},`, 1)
	c, err := gnmi.Language{}.Parse(`{"openconfig-interfaces:interfaces": {"interface": [` + strings.Join(interfaces, ",") + `]},` + text[1:])
	if err != nil {
		panic(err)
	}
	return c
}

// TestDriver takes gnxi's target through everything that may happen to a change.
func TestDriver(t *testing.T) { target(t).Run(t) }

// TestLostConnection cuts the connection at more and more places of a change. The way back has 3,350 to 3,460 bytes, and none of
// the places is at its end, where nothing is left to lose.
func TestLostConnection(t *testing.T) {
	target(t).RunLost(t, 100, 1730, 10100)
}
