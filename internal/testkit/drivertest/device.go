package drivertest

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/container"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// Device is a real device, with configurations to try.
type Device struct {
	// Address of its server; the path of a socket for a device in a container.
	Address string
	// New returns a driver for an address, with something wrong.
	New func(address string, wrong Wrong) (configure.Driver, error)
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
	// Identity is a part of the message for a device with another host key or certificate; empty for a device in a container.
	Identity string
	// NoDevice returns a driver for a server that is no such device, and a part of the message for it.
	NoDevice func(*testing.T) (driver configure.Driver, message string)
}

// Wrong contains what is wrong with the settings of a driver.
type Wrong struct {
	// Password reports whether the driver has a password that the device does not accept.
	Password bool
	// Identity reports whether the driver expects a host key or certificate that the device does not have.
	Identity bool
}

// Patience is how long a device may take to answer, which shares the processors with other tests, and shortPatience is the time
// where nothing answers.
const (
	Patience      = time.Minute
	shortPatience = 2 * time.Second
)

// OverSSH sets how a device is reached that has an OpenSSH server, whose user is sshrouter.User, and returns it. A server that
// runs no command and prints what it reads is no such device: silent is a part of the message for it.
func OverSSH(d Device, hostKey []byte, driver func(sshaccess.Config) (configure.Driver, error), silent string) *Device {
	d.Identity = "and may have SHA256:"
	d.NoDevice = func(t *testing.T) (configure.Driver, string) {
		cat := sshrouter.Serve(t, "/bin/cat")
		other, err := driver(sshaccess.Config{Address: cat.Address, User: sshrouter.User, Password: sshrouter.Password, HostKeys: cat.HostKey, Timeout: shortPatience})
		if err != nil {
			t.Fatal(err)
		}
		return other, silent
	}
	d.New = func(address string, wrong Wrong) (configure.Driver, error) {
		c := sshaccess.Config{Address: address, User: sshrouter.User, Password: sshrouter.Password, HostKeys: hostKey, Timeout: Patience}
		if wrong.Password {
			c.Password = "wrong"
		}
		if wrong.Identity {
			c.HostKeys = []byte(otherKey)
		}
		return driver(c)
	}
	return &d
}

// InContainer sets how a device is reached that runs in a container, and returns it. Another container is no such device: silent is
// a part of the message for it.
func InContainer(d Device, name, other string, driver func(commands.Access) (configure.Driver, error), silent string) *Device {
	d.New = func(address string, _ Wrong) (configure.Driver, error) {
		return driver(container.Config{Name: name, Host: "unix://" + address, Timeout: Patience})
	}
	d.NoDevice = func(t *testing.T) (configure.Driver, string) {
		none, err := driver(container.Config{Name: other, Host: "unix://" + d.Address, Timeout: shortPatience})
		if err != nil {
			t.Fatal(err)
		}
		return none, silent
	}
	return &d
}

const otherKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

// driver returns a driver for an address.
func (d *Device) driver(t *testing.T, address string) configure.Driver {
	t.Helper()
	return d.wrong(t, address, Wrong{})
}

// wrong returns a driver with something wrong.
func (d *Device) wrong(t *testing.T, address string, wrong Wrong) configure.Driver {
	t.Helper()
	driver, err := d.New(address, wrong)
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
	return Parsed(t, d.language(t), d.Running())
}

// Parsed returns a configuration of a text that is one.
func Parsed(t *testing.T, language configure.Language, text string) configure.Configuration {
	t.Helper()
	c, err := language.Parse(text)
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
