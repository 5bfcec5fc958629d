package drivertest

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// Device is a real device, with configurations to try.
type Device struct {
	// Address and HostKey of its OpenSSH server, whose user is sshrouter.User.
	Address string
	HostKey []byte
	// New returns a driver.
	New func(sshaccess.Config) (configure.Driver, error)
	// Running returns the configuration as the programs of the device print it.
	Running func() string
	// Other is a configuration with some entries that the device accepts. Its line with Secret in it, if there is one,
	// has a secret.
	Other  func(base configure.Configuration, entries int) configure.Configuration
	Secret string
	// Rejected is a configuration with a line that the device rejects.
	Rejected func(base configure.Configuration) (_ configure.Configuration, line string)
	// Otherwise is a configuration that the device accepts and reports in other words, with one of the
	// differences; nil if there is none.
	Otherwise func(base configure.Configuration) (_ configure.Configuration, difference string)
	// Silent is the start of the message for a server that runs no command, but prints what it reads.
	Silent string
}

// driver returns a driver for an address.
func (d *Device) driver(t *testing.T, address string, change ...func(*sshaccess.Config)) configure.Driver {
	t.Helper()
	c := sshaccess.Config{Address: address, User: sshrouter.User, Password: sshrouter.Password, HostKeys: d.HostKey, Timeout: 10 * time.Second}
	for _, f := range change {
		f(&c)
	}
	driver, err := d.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// language of the device's configurations.
func (d *Device) language(t *testing.T) configure.Language { return d.driver(t, d.Address).Language() }

// running is the configuration of the device.
func (d *Device) running(t *testing.T) configure.Configuration {
	t.Helper()
	c, err := d.language(t).Parse(d.Running())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// has compares what the device's own programs print.
func (d *Device) has(t *testing.T, want configure.Configuration) {
	t.Helper()
	if found := d.language(t).Differences(want, d.running(t)); len(found) > 0 {
		t.Errorf("the device has another configuration: %q", found)
	}
}
