package gnmi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/gnmi"
	"nodrop.dev/nodrop/internal/testkit/gnmitarget"
)

// device returns gnxi's target as a switch with two interfaces, a chassis, a power supply and a transceiver.
func device(t *testing.T) *gnmitarget.Target {
	return gnmitarget.Start(t, fmt.Sprintf(`{
 "openconfig-interfaces:interfaces": {"interface": [
  {"name": "Ethernet1", "config": {"name": "Ethernet1"}, "state": {"counters": {"in-discards": "5", "in-errors": "0", "out-discards": "18446744073709551614", "in-pkts": "99"}}},
  {"name": "Ethernet2", "config": {"name": "Ethernet2"}, "state": {"counters": {"in-discards": "7"}}}]},
 "openconfig-platform:components": {"component": [
  {"name": "chassis", "config": {"name": "chassis"}, "state": {"type": "openconfig-platform-types:CHASSIS", "part-no": "DCS-7050", "serial-no": "JPE1", "software-version": "4.32.1F",
   "last-reboot-reason": "openconfig-platform-types:REBOOT_POWER_FAILURE", "used-power": 421, "temperature": {"instant": "36.4"}}},
  {"name": "Ethernet1-optic", "config": {"name": "Ethernet1-optic"}, "state": {"type": "openconfig-platform-types:TRANSCEIVER", "part-no": "SFP-10G-SR", "serial-no": "X2"}}]},
 "openconfig-system:system": {
  "state": {"hostname": "leaf-1", "boot-time": "%d"},
  "memory": {"state": {"physical": "4000", "used": "1000"}},
  "cpus": {"cpu": [{"index": 0, "state": {"index": 0, "total": {"instant": 12}}}]}}}`, time.Now().Add(-time.Hour).UnixNano()))
}

func reader(t *testing.T, g *gnmitarget.Target, interfaces ...string) *gnmi.Reader {
	t.Helper()
	c, err := gnmiaccess.ReadConfig(configure.Reach{Address: g.Address, Key: g.Key})
	if err != nil {
		t.Fatal(err)
	}
	r, err := gnmi.New(c, interfaces)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestRead reads counters, which another client changes, and sensors.
func TestRead(t *testing.T) {
	t.Parallel()
	g := device(t)
	one, all := reader(t, g, "Ethernet1"), reader(t, g)
	before, err := one.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.Update("/interfaces/interface[name=Ethernet1]/state/counters/in-discards:\"42\"")
	after, err := one.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const counter = "input discards of Ethernet1"
	if n := after.Counters[counter].Since(before.Counters[counter]); n != 37 {
		t.Errorf("%s grew by %d, want 37: %+v", counter, n, after.Counters)
	}
	want := map[string]telemetry.Counter{
		counter:                        {Value: 42, Bits: 64},
		"input errors of Ethernet1":    {Bits: 64},
		"output discards of Ethernet1": {Value: 18446744073709551614, Bits: 64},
	}
	if fmt.Sprint(after.Counters) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", after.Counters, want)
	}
	if r, err := all.Read(t.Context()); err != nil || r.Counters["input discards of Ethernet2"].Value != 7 || len(r.Counters) != 4 {
		t.Errorf("%v, %v: want the counters of both interfaces", r, err)
	}
	sensors := map[string]telemetry.Sensor{"chassis power": {Value: 421, Unit: "W"}, "chassis temperature": {Value: 36.4, Unit: "°C"}, "memory": {Value: 25, Unit: "%"}, "processor 0": {Value: 12, Unit: "%"}}
	if fmt.Sprint(after.Sensors) != fmt.Sprint(sensors) {
		t.Errorf("%v, want %v", after.Sensors, sensors)
	}
	if after.Up < time.Hour || after.Up > 2*time.Hour {
		t.Errorf("up for %v", after.Up)
	}
}

// TestFacts reads what the device is.
func TestFacts(t *testing.T) {
	t.Parallel()
	f, err := reader(t, device(t)).Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.Model != "DCS-7050" || f.SerialNumber != "JPE1" || f.Software != "4.32.1F" || f.Description != "leaf-1" || f.BootReason != "REBOOT_POWER_FAILURE" ||
		!slices.Equal(f.Modules, []string{"Ethernet1-optic: SFP-10G-SR, serial number X2"}) || f.Up < time.Hour {
		t.Errorf("%+v", f)
	}
}

// TestRefused tries what a device does not answer, and names why.
func TestRefused(t *testing.T) {
	t.Parallel()
	g := device(t)
	if _, err := reader(t, g, "Ethernet9").Read(t.Context()); err == nil || !strings.Contains(err.Error(), `no interface "Ethernet9"`) {
		t.Errorf("%v", err)
	}
	empty := gnmitarget.Start(t, "{}")
	if _, err := reader(t, empty).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no interface with counters") {
		t.Errorf("%v", err)
	}
	c, err := gnmiaccess.ReadConfig(configure.Reach{Address: g.Address, Key: g.Key})
	if err != nil {
		t.Fatal(err)
	}
	c.Password = "wrong-password"
	r, err := gnmi.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "does not accept the user") || strings.Contains(err.Error(), "wrong-password") {
		t.Errorf("%v", err)
	}
}
