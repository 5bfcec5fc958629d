package snmp_test

import (
	"fmt"
	"math"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/snmp"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// device starts Linux in a network namespace, next to one for the test.
func device(t *testing.T) *sshrouter.Linux {
	t.Helper()
	namespacetest.Enter(t)
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return sshrouter.StartLinux(t)
}

// send sends datagrams of UDP with some bytes to an address behind the device.
func send(t *testing.T, address string, frames, size int) {
	t.Helper()
	conn, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for range frames {
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
}

// Tests that have entered a namespace have no subtests: these run in other threads.

// TestSNMPD reads Debian's snmpd on Linux by both versions: the counters grow by the number of frames that the kernel drops.
func TestSNMPD(t *testing.T) {
	l := device(t)
	address := l.ServeSNMP()
	l.Drop("management", 1000)
	for name, c := range map[string]snmp.Config{
		"version 2c": {Community: sshrouter.Community},
		"version 3": {
			User: sshrouter.SNMPUser, Authentication: "SHA256", AuthenticationPassword: sshrouter.SNMPPassword, PrivacyPassword: sshrouter.SNMPPassword,
			Interfaces: []string{"management"},
		},
	} {
		c.Address = address
		r, err := snmp.New(c)
		if err != nil {
			t.Fatal(err)
		}
		before := read(t, r)
		send(t, strings.Replace(address, ":161", ":9", 1), 37, 1200)
		after := read(t, r)
		r.Close()
		const counter = "input discards of management"
		if n := after.Counters[counter].Since(before.Counters[counter]); n != 37 {
			t.Errorf("%s: %s grew by %d, want 37: %+v\n%s", name, counter, n, after.Counters, l.Counters("management"))
		}
		if _, all := after.Counters["input discards of lo"]; all != (len(c.Interfaces) == 0) || after.Up <= 0 {
			t.Errorf("%s: %+v", name, after)
		}
	}
}

// TestSensors reads sensors that the configuration of snmpd sets: a power supply, a broken sensor and a sensor of an unknown kind.
func TestSensors(t *testing.T) {
	l := device(t)
	var lines []string
	for index, sensor := range map[int][]int{1: {6, 9, 1, 4215, 1}, 2: {8, 8, 0, 36400, 1}, 3: {6, 9, 0, 100, 3}, 4: {12, 9, 0, 1, 1}} {
		for column, value := range sensor {
			lines = append(lines, fmt.Sprintf("override .1.3.6.1.2.1.99.1.1.1.%d.%d integer %d", column+1, index, value))
		}
	}
	lines = append(lines, `override .1.3.6.1.2.1.47.1.1.1.1.7.1 octet_str "PSU 1"`)
	for column, values := range map[int][]string{5: {"", "integer 3", "integer 10", "integer 10"}, 10: {"", `octet_str "4.32.1F"`}, 11: {"", `octet_str "JPE1"`, `octet_str "X2"`},
		13: {"", `octet_str "DCS-7050"`, `octet_str "SFP-10G-SR"`}} {
		for i, value := range values {
			if value != "" {
				lines = append(lines, fmt.Sprintf("override .1.3.6.1.2.1.47.1.1.1.1.%d.%d %s", column, 9+i, value))
			}
		}
	}
	lines = append(lines, `override .1.3.6.1.2.1.47.1.1.1.1.7.11 octet_str "Ethernet1"`)
	r, err := snmp.New(snmp.Config{Address: l.ServeSNMP(lines...), Community: sshrouter.Community})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	facts := factsOf(t, r)
	if facts.Model != "DCS-7050" || facts.SerialNumber != "JPE1" || facts.Software != "4.32.1F" || !slices.Equal(facts.Modules, []string{"Ethernet1: SFP-10G-SR, serial number X2"}) ||
		!strings.HasPrefix(facts.Description, "Linux ") || facts.Up <= 0 {
		t.Errorf("%+v", facts)
	}
	want := map[string]telemetry.Sensor{"PSU 1": {Value: 421.5, Unit: "W"}, "sensor 2": {Value: 36.4, Unit: "°C"}}
	got := read(t, r).Sensors
	for name, sensor := range want {
		if s := got[name]; math.Abs(s.Value-sensor.Value) > 1e-9 || s.Unit != sensor.Unit {
			t.Errorf("%s: %+v, want %+v", name, s, sensor)
		}
	}
	for name := range got {
		if _, known := want[name]; !known && !strings.HasPrefix(name, "processor ") {
			t.Errorf("%s: %+v, want it left out", name, got[name])
		}
	}
}

func factsOf(t *testing.T, r *snmp.Reader) telemetry.Facts {
	t.Helper()
	f, err := r.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return *f
}

func read(t *testing.T, r *snmp.Reader) *telemetry.Reading {
	t.Helper()
	reading, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

// TestRefused tries what a device does not answer, and names why.
func TestRefused(t *testing.T) {
	address := device(t).ServeSNMP()
	good := snmp.Config{Address: address, User: sshrouter.SNMPUser, Authentication: "SHA256", AuthenticationPassword: sshrouter.SNMPPassword, PrivacyPassword: sshrouter.SNMPPassword}
	for name, tc := range map[string]struct {
		change func(*snmp.Config)
		want   string
	}{
		"wrong community":  {func(c *snmp.Config) { *c = snmp.Config{Address: address, Community: "other"} }, "does not answer a wrong community"},
		"unknown user":     {func(c *snmp.Config) { c.User = "other" }, "another user"},
		"wrong password":   {func(c *snmp.Config) { c.AuthenticationPassword = "wrong-password" }, "another user"},
		"wrong algorithm":  {func(c *snmp.Config) { c.Authentication = "SHA" }, "another user"},
		"wrong privacy":    {func(c *snmp.Config) { c.PrivacyPassword = "wrong-password" }, "another privacyPassword"},
		"no such port":     {func(c *snmp.Config) { c.Address = strings.Replace(address, ":161", ":162", 1) }, "refused"},
		"not an interface": {func(c *snmp.Config) { c.Interfaces = []string{"Ethernet9"} }, `no interface "Ethernet9"`},
	} {
		c := good
		tc.change(&c)
		r, err := snmp.New(c)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = r.Read(t.Context())
		r.Close()
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "wrong-password") || strings.Contains(err.Error(), sshrouter.SNMPPassword) {
			t.Errorf("%s, after %v: %v, want %q", name, time.Since(began), err, tc.want)
		}
	}
}

// TestCheck names the setting that cannot work.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]snmp.Config{
		"address: Invalid value":                {Address: "192.0.2.1", Community: "c"},
		"credentials: Required value":           {Address: "192.0.2.1:161"},
		"and not both":                          {Address: "192.0.2.1:161", Community: "c", User: "u"},
		"authentication: Unsupported value":     {Address: "192.0.2.1:161", User: "u", Authentication: "MD5"},
		"authenticationPassword: Invalid value": {Address: "192.0.2.1:161", User: "u", Authentication: "SHA", AuthenticationPassword: "short", PrivacyPassword: "long enough"},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
