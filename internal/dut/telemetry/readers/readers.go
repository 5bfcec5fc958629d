package readers

import (
	"cmp"
	"context"
	"errors"
	"net"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/linux"
	"nodrop.dev/nodrop/internal/dut/telemetry/snmp"
)

// New returns the reader of a device, whose credentials read returns by their keys. Dial may be nil. It does not connect yet,
// and fails for settings that cannot work.
func New(t *v1alpha1.DeviceTelemetry, read func(key string) ([]byte, error), dial func(ctx context.Context, network, address string) (net.Conn, error)) (telemetry.Reader, error) {
	switch {
	case t.SNMP != nil:
		c := config(t.SNMP.Address, t.SNMP.Authentication, dial)
		if err := c.ReadAccess(read); err != nil {
			return nil, err
		}
		c.Interfaces = t.Interfaces
		return snmp.New(c)
	case t.GNMI != nil:
		return overGRPC(configure.Reach{Address: t.GNMI.Address, Key: read, Dial: dial}, t.Interfaces)
	case t.Linux != nil:
		c, err := sshaccess.ReadConfig(configure.Reach{Address: t.Linux.Address, Key: read, Dial: dial})
		if err != nil {
			return nil, err
		}
		return linux.New(c, t.Interfaces)
	}
	return nil, errors.New("telemetry: Required value: give snmp, gnmi or linux")
}

// NewMeter returns the meter of a device's power, whose credentials read returns by their keys, as New does.
func NewMeter(m *v1alpha1.PowerMeter, read func(key string) ([]byte, error), dial func(ctx context.Context, network, address string) (net.Conn, error)) (telemetry.Meter, error) {
	if m.SNMP == nil {
		return nil, errors.New("power: Required value: give snmp")
	}
	c := config(m.SNMP.Address, m.SNMP.Authentication, dial)
	if err := c.ReadAccess(read); err != nil {
		return nil, err
	}
	var outlets []snmp.Outlet
	for _, o := range m.SNMP.Outlets {
		outlets = append(outlets, snmp.Outlet{OID: o.OID, MilliwattsPerUnit: int64(o.MilliwattsPerUnit)})
	}
	return snmp.NewMeter(c, outlets)
}

// NewSwitch returns the switch of a device's power, as NewMeter does; nil if NoDrop may not take the power away.
func NewSwitch(m *v1alpha1.PowerMeter, read func(key string) ([]byte, error), dial func(ctx context.Context, network, address string) (net.Conn, error)) (telemetry.PowerSwitch, error) {
	if !m.Switches() {
		return nil, nil
	}
	c := config(m.SNMP.Address, m.SNMP.Authentication, dial)
	if err := c.ReadWriteAccess(read); err != nil {
		return nil, err
	}
	var outlets []snmp.SwitchedOutlet
	for _, o := range m.SNMP.Outlets {
		outlets = append(outlets, snmp.SwitchedOutlet{OID: o.Switch.OID, On: o.Switch.On, Off: o.Switch.Off})
	}
	return snmp.NewSwitch(c, outlets)
}

// config returns the settings of SNMP without credentials, with the default.
func config(address string, authentication v1alpha1.SNMPAuthentication, dial func(ctx context.Context, network, address string) (net.Conn, error)) snmp.Config {
	return snmp.Config{Address: address, Authentication: string(cmp.Or(authentication, v1alpha1.SNMPAuthenticationSHA256)), Dial: dial}
}

// MeterKeys names the keys of the Secret by which a meter is read.
const MeterKeys = "community, or user, authenticationPassword and privacyPassword"

// Keys names the keys of the Secret by which a device is read.
func Keys(t *v1alpha1.DeviceTelemetry) string {
	switch {
	case t.SNMP != nil:
		return MeterKeys
	case t.GNMI != nil:
		return keysOverGRPC
	}
	return sshaccess.Keys
}
