package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/hostdevice"
	"nodrop.dev/nodrop/internal/manifests/manifest"
)

// fakeInterfaces returns the interfaces of a machine with two free cards and others that are
// not free.
func fakeInterfaces() ([]hostdevice.Candidate, error) {
	return []hostdevice.Candidate{
		{Name: "eth0", Megabits: 1000, Why: "the default route leads over this interface"},
		{Name: "eth1", Megabits: 10_000}, {Name: "eth2", Megabits: 2500}, {Name: "on", Megabits: 100}, {Name: "eth4"},
	}, nil
}

// initialize runs init on that machine. Without answers, init asks no questions.
func initialize(t *testing.T, dir, answers string, args ...string) (questions string, err error) {
	t.Helper()
	cmd := newInitCommandFor(fakeInterfaces, func(io.Reader) bool { return answers != "" })
	var stderr bytes.Buffer
	cmd.SetIn(strings.NewReader(answers))
	cmd.SetOut(io.Discard)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{dir}, args...))
	err = cmd.Execute()
	return stderr.String(), err
}

// bundleIn returns the manifests in a directory, after validate has accepted them.
func bundleIn(t *testing.T, dir string) *manifest.Bundle {
	t.Helper()
	in := manifestFlags{files: []string{dir}}
	bundle, err := in.read(newRunCommand(), nil, "")
	if err != nil {
		t.Fatalf("%v, hint %q", err, hint.Of(err))
	}
	return bundle
}

func TestInitFromFlags(t *testing.T) {
	sendsNoFrames(t)
	for name, test := range map[string]struct {
		args []string
		want func(bed v1alpha1.TestBedSpec) bool
	}{
		"switch": {[]string{"--device", "switch", "--interfaces", "eth1,on", "--vendor", `a "b": c`, "--name", "no"}, func(bed v1alpha1.TestBedSpec) bool {
			p := bed.Device.Physical
			return p.Vendor == `a "b": c` && p.Model == "unknown" && bed.Ports[0].Speed == "10G" && bed.Ports[1].Speed == "100M" &&
				bed.Ports[1].Attachment.HostDevice.Interface == "on" && bed.Ports[1].Addresses[0] == "198.18.1.3/24" && len(bed.Ports[0].Gateways) == 0
		}},
		"router": {[]string{"--device", "router", "--interfaces", "eth2,eth1"}, func(bed v1alpha1.TestBedSpec) bool {
			return bed.Ports[0].Speed == "2500M" && bed.Ports[1].Addresses[0] == "198.18.2.2/24" && bed.Ports[1].Gateways[0] == "198.18.2.1"
		}},
		"router over IPv6": {[]string{"--device", "router", "--interfaces", "eth1,eth2", "--speed", "1G", "--addresses", "2001:2:0:1::2/64,2001:2:0:2::2/64"}, func(bed v1alpha1.TestBedSpec) bool {
			return bed.Ports[0].Speed == "1G" && bed.Ports[1].Speed == "1G" && bed.Ports[0].Gateways[0] == "2001:2:0:1::1"
		}},
		"virtual switch": {[]string{"--device", "virtual-switch"}, func(bed v1alpha1.TestBedSpec) bool { return bed.Device.Containerlab != nil && len(bed.Ports) == 2 }},
		"virtual router": {[]string{"--device", "virtual-router"}, func(bed v1alpha1.TestBedSpec) bool { return bed.Ports[0].Gateways[0] == "198.18.1.1" }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "lab")
			if _, err := initialize(t, dir, "", test.args...); err != nil {
				t.Fatalf("%v, hint %q", err, hint.Of(err))
			}
			if bundle := bundleIn(t, dir); !test.want(bundle.Bed.Spec) {
				t.Errorf("bed: %+v", bundle.Bed.Spec)
			}
		})
	}
}

func TestInitAsks(t *testing.T) {
	dir := t.TempDir()
	// A wrong kind, a router, the second pair of interfaces, a speed that is not known, and
	// an address that is not the preset one.
	questions, err := initialize(t, dir, "hub\nrouter\neth2, eth4\n10G\nacme\n\n\n198.19.0.2/24\n\n198.19.0.9\n")
	if err != nil {
		t.Fatalf("%v, hint %q\n%s", err, hint.Of(err), questions)
	}
	for _, want := range []string{
		`"hub" is none of them`, "Interfaces of this machine: eth1 10G, eth2 2500M, on 100M, eth4", "not eth0: the default route",
		"Which are cabled to the device? [eth1,eth2]", "Speed of eth4? [10G]", "Address of the tester on eth4? [198.18.2.2/24]", "Address of the router on eth4? [198.19.0.1]",
	} {
		if !strings.Contains(questions, want) {
			t.Errorf("the questions lack %q:\n%s", want, questions)
		}
	}
	bed := bundleIn(t, dir).Bed.Spec
	if bed.Device.Physical.Vendor != "acme" || bed.Device.Physical.Model != "unknown" || bed.Ports[1].Speed != "10G" ||
		bed.Ports[0].Gateways[0] != "198.18.1.1" || bed.Ports[1].Addresses[0] != "198.19.0.2/24" || bed.Ports[1].Gateways[0] != "198.19.0.9" {
		t.Errorf("bed: %+v", bed)
	}
	if _, err := initialize(t, t.TempDir(), "switch\n"); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("answers that end: %v", err)
	}
}

func TestInitRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no device":              {nil, "--device is missing"},
		"unknown device":         {[]string{"--device", "hub"}, `--device "hub" is no kind of device: give one of switch, router`},
		"no interfaces":          {[]string{"--device", "switch"}, "usable on this machine: eth1 10G, eth2 2500M, on 100M, eth4\n  not eth0: the default route"},
		"an unknown interface":   {[]string{"--device", "switch", "--interfaces", "eth1,eth7"}, "--interfaces eth7: this machine has no such interface"},
		"a used interface":       {[]string{"--device", "switch", "--interfaces", "eth1,eth0"}, "--interfaces eth0: the default route"},
		"an interface twice":     {[]string{"--device", "switch", "--interfaces", "eth1,eth1"}, "names eth1 twice"},
		"an odd number":          {[]string{"--device", "switch", "--interfaces", "eth1,eth2,on"}, "give an even number"},
		"an unknown speed":       {[]string{"--device", "switch", "--interfaces", "eth1,eth4"}, "the speed of eth4 is not known"},
		"cables of a virtual":    {[]string{"--device", "virtual-switch", "--interfaces", "eth1,eth2"}, "a virtual-switch has no cables"},
		"gateways of a switch":   {[]string{"--device", "switch", "--interfaces", "eth1,eth2", "--gateways", "198.18.1.1"}, "a switch has no addresses"},
		"too few addresses":      {[]string{"--device", "switch", "--interfaces", "eth1,eth2", "--addresses", "198.18.1.2/24"}, "--addresses has 1 values (198.18.1.2/24) for 2 interfaces"},
		"no prefix length":       {[]string{"--device", "router", "--interfaces", "eth1,eth2", "--addresses", "198.18.1.2,198.18.2.2"}, "--addresses 198.18.1.2: is not an address with prefix length"},
		"a speed that is none":   {[]string{"--device", "switch", "--interfaces", "eth1,eth2", "--speed", "10 Gbit"}, `"10 Gbit" is not a port speed`},
		"a gateway that is away": {[]string{"--device", "router", "--interfaces", "eth1,eth2", "--gateways", "198.18.1.1,198.18.1.9"}, "the gateway is outside of 198.18.2.0/24"},
		"a name in capitals":     {[]string{"--device", "virtual-switch", "--name", "My_Lab"}, "did you mean my-lab?"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "lab")
			_, err := initialize(t, dir, "", test.args...)
			if err == nil || !strings.Contains(err.Error()+"\n"+hint.Of(err), test.want) {
				t.Errorf("%v\nhint: %s\nwant %q", err, hint.Of(err), test.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("something was written")
			}
		})
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "benchmark.yaml")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := initialize(t, dir, "", "--device", "virtual-switch"); err == nil || !strings.Contains(err.Error(), mine+" exists, and is not overwritten") {
		t.Errorf("overwriting: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%v were written", files)
	}
}
