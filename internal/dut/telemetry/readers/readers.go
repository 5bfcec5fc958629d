package readers

import (
	"context"
	"errors"
	"net"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/gnmi"
	"nodrop.dev/nodrop/internal/dut/telemetry/linux"
	"nodrop.dev/nodrop/internal/dut/telemetry/snmp"
)

// New returns the reader of a device, whose credentials read returns by their keys. Dial may be nil. It does not connect yet,
// and fails for settings that cannot work.
func New(t *v1alpha1.DeviceTelemetry, read func(key string) ([]byte, error), dial func(ctx context.Context, network, address string) (net.Conn, error)) (telemetry.Reader, error) {
	switch {
	case t.SNMP != nil:
		c := snmp.Config{Address: t.SNMP.Address, Authentication: string(t.SNMP.Authentication), Interfaces: t.Interfaces, Dial: dial}
		if c.Authentication == "" {
			c.Authentication = string(v1alpha1.SNMPAuthenticationSHA256)
		}
		if err := c.ReadAccess(read); err != nil {
			return nil, err
		}
		return snmp.New(c)
	case t.GNMI != nil:
		c, err := gnmiaccess.ReadConfig(configure.Reach{Address: t.GNMI.Address, Key: read, Dial: dial})
		if err != nil {
			return nil, err
		}
		return gnmi.New(c, t.Interfaces)
	case t.Linux != nil:
		c, err := sshaccess.ReadConfig(configure.Reach{Address: t.Linux.Address, Key: read, Dial: dial})
		if err != nil {
			return nil, err
		}
		return linux.New(c, t.Interfaces)
	}
	return nil, errors.New("telemetry: Required value: give snmp, gnmi or linux")
}

// Keys names the keys of the Secret by which a device is read.
func Keys(t *v1alpha1.DeviceTelemetry) string {
	switch {
	case t.SNMP != nil:
		return "community, or user, authenticationPassword and privacyPassword"
	case t.GNMI != nil:
		return gnmiaccess.Keys
	}
	return sshaccess.Keys
}
