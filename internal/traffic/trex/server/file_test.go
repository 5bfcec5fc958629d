package server

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestConfigure holds the file and the arguments of whole servers against golden
// files.
func TestConfigure(t *testing.T) {
	for name, c := range map[string]struct {
		config  Config
		env     map[string]string
		machine Machine
	}{
		"software": {
			config:  software(512, "p1", "p2"),
			machine: laptop(8),
		},
		"software-shared-node": {
			config:  software(16384, "p1", "p2", "p3", "p4"),
			machine: without(laptop(64), func(m *Machine) { m.MTUs["p3"], m.MTUs["p4"] = 1500, 1500 }),
		},
		"software-two-processors": {
			config:  software(16384, "p1", "p2"),
			machine: laptop(2),
		},
		"software-odd-jumbo": {
			config: software(16416, "p1", "p2", "jumbo"),
			machine: Machine{
				Processors: []int{2, 3}, // a cpuset without the first processor
				MTUs:       map[string]int{"p1": 1500, "p2": 1960, "jumbo": 9216},
			},
		},
		"dpdk-two-sockets": {
			config: Config{
				Ports:        append(resources("intel.com/left", 4), resources("intel.com/right", 4)...),
				HugePagesMiB: 8192 + 1500,
				RPCPort:      4501,
			},
			env: map[string]string{
				"PCIDEVICE_INTEL_COM_LEFT":  "0000:3b:02.0,0000:3b:02.1,0000:3b:02.2,0000:3b:02.3",
				"PCIDEVICE_INTEL_COM_RIGHT": "0000:d8:02.0,0000:d8:02.1,0000:d8:02.2,0000:d8:02.3",
			},
			machine: twoSockets(),
		},
		"dpdk-pair-spans-sockets": {
			config: Config{
				Ports:        []Port{{Name: "left", Resource: "intel.com/left"}, {Name: "right", Resource: "intel.com/right"}},
				HugePagesMiB: 4096,
				RPCPort:      4501,
			},
			env: map[string]string{
				"PCIDEVICE_INTEL_COM_LEFT":  "0000:3b:02.0",
				"PCIDEVICE_INTEL_COM_RIGHT": "0000:d8:02.0",
			},
			machine: twoSockets(),
		},
		"dpdk-odd-mellanox": {
			config: Config{
				Ports:        resources("nvidia.com/cx6-dut.p", 1),
				HugePagesMiB: 2048,
				RPCPort:      4511,
			},
			env: map[string]string{"PCIDEVICE_NVIDIA_COM_CX6_DUT_P": "0000:81:00.1"},
			machine: Machine{
				Processors:  []int{40, 41, 42, 43},
				Nodes:       map[int]int{40: 1, 41: 1, 42: 1, 43: 1},
				Cards:       map[string]Card{"0000:81:00.1": {Node: 1, Driver: "mlx5_core"}},
				HugePageMiB: 2,
			},
		},
		"dpdk-shared-two-processors": {
			config: shared(Config{
				Ports:        []Port{{Name: "left", Resource: "intel.com/left"}, {Name: "right", Resource: "intel.com/right"}},
				HugePagesMiB: 600,
				RPCPort:      4501,
			}),
			env: map[string]string{
				"PCIDEVICE_INTEL_COM_LEFT":  "0000:01:00.0",
				"PCIDEVICE_INTEL_COM_RIGHT": "0000:02:00.0",
			},
			machine: emulated(2),
		},
		"dpdk-astf": {
			config: Config{
				Ports:        []Port{{Name: "left", Resource: "intel.com/left"}, {Name: "right", Resource: "intel.com/right"}},
				HugePagesMiB: 2048,
				ASTF:         true,
				RPCPort:      4501,
			},
			env: map[string]string{
				"PCIDEVICE_INTEL_COM_LEFT":  "0000:3b:02.0",
				"PCIDEVICE_INTEL_COM_RIGHT": "0000:3b:02.1",
			},
			machine: twoSockets(),
		},
		"dpdk-filters-in-software": {
			config: Config{
				Ports:        []Port{{Name: "left", Resource: "intel.com/left"}, {Name: "right", Resource: "intel.com/right"}},
				HugePagesMiB: 600,
				RPCPort:      4501,
			},
			env: map[string]string{
				"PCIDEVICE_INTEL_COM_LEFT":  "0000:01:00.0",
				"PCIDEVICE_INTEL_COM_RIGHT": "0000:02:00.0",
			},
			machine: emulated(8),
		},
	} {
		t.Run(name, func(t *testing.T) {
			launch, err := Configure(c.config, "nodrop-test", func(n string) string { return c.env[n] }, c.machine)
			if err != nil {
				t.Fatal(err)
			}
			got := "# " + strings.Join(launch.Args, " ") + "\n" + string(launch.File)
			for _, w := range launch.Warnings {
				got += "# warning: " + w + "\n"
			}
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("%s (-want +got):\n%s", path, d)
			}
		})
	}
}

// TestConfigureErrors holds what a person reads against what is wrong.
func TestConfigureErrors(t *testing.T) {
	env := map[string]string{"PCIDEVICE_INTEL_COM_DUT": "0000:3b:02.0, 0000:3b:02.1"}
	dpdk := func(change func(*Config)) Config {
		c := Config{Ports: resources("intel.com/dut", 2), HugePagesMiB: 4096, RPCPort: 4501}
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		config  Config
		machine Machine
		want    []string
	}{
		"no ports":        {software(512), laptop(8), []string{"ports has 0 entries", "1 to 32"}},
		"too many ports":  {Config{Ports: make([]Port, 33), RPCPort: 4501}, laptop(8), []string{"ports has 33 entries"}},
		"port number":     {dpdk(func(c *Config) { c.RPCPort = 1 }), twoSockets(), []string{"rpcPort 1", "4501"}},
		"no interface":    {software(512, "p1", ""), laptop(8), []string{"ports[1].interface", "empty"}},
		"unknown":         {software(512, "p1", "p9"), laptop(8), []string{`ports[1].interface "p9"`, "does not exist", "attachment"}},
		"no resource":     {dpdk(func(c *Config) { c.Ports[1].Resource = "" }), twoSockets(), []string{"ports[1].resource", "port1", "sriov", "software"}},
		"no card":         {dpdk(func(c *Config) { c.Ports[1].Resource = "intel.com/other" }), twoSockets(), []string{"port1", "intel.com/other", "PCIDEVICE_INTEL_COM_OTHER", "0"}},
		"too few cards":   {dpdk(func(c *Config) { c.Ports = resources("intel.com/dut", 3) }), twoSockets(), []string{"port2", "intel.com/dut", "PCIDEVICE_INTEL_COM_DUT", "names 2", "port 3 of that resource"}},
		"no huge pages":   {dpdk(func(*Config) {}), without(twoSockets(), func(m *Machine) { m.HugePageMiB = 0 }), []string{"huge pages", "engine.trex.hugePages"}},
		"less than pages": {dpdk(func(c *Config) { c.HugePagesMiB = 1000 }), twoSockets(), []string{"hugePagesMiB 1000", "1024 MiB", "engine.trex.hugePages.total"}},
		"two processors":  {dpdk(func(*Config) {}), without(twoSockets(), func(m *Machine) { m.Processors = []int{0, 1} }), []string{"2 processors", "[0 1]", "needs 3", "engine.trex.cpus to 3"}},
		"wrong node":      {dpdk(func(*Config) {}), without(twoSockets(), func(m *Machine) { m.Processors = []int{8, 9, 10, 11} }), []string{"[8 9 10 11]", "0 of them at NUMA node 0", "1 pairs", "topologyManagerPolicy"}},
		"high processors": {dpdk(func(*Config) {}), without(laptop(8), func(m *Machine) { m.Processors, m.HugePageMiB = []int{118, 119, 120, 121}, 2 }), []string{"2 processors", "above 119"}},
		"kernel's driver": {dpdk(func(*Config) {}), without(twoSockets(), func(m *Machine) { m.Cards["0000:3b:02.1"] = Card{Driver: "igb"} }), []string{"port1", "0000:3b:02.1", "driver igb", "vfio-pci", "driverctl set-override 0000:3b:02.1 vfio-pci"}},
		"igb's function":  {dpdk(func(*Config) {}), without(twoSockets(), func(m *Machine) { m.Cards["0000:3b:02.1"] = Card{Driver: "vfio-pci", ID: "8086:10ca"} }), []string{"port1", "0000:3b:02.1", "virtual function of an Intel 82576", "TRex has no driver", "software: {}"}},
		"no driver":       {dpdk(func(*Config) {}), without(twoSockets(), func(m *Machine) { m.Cards["0000:3b:02.1"] = Card{} }), []string{"port1", "0000:3b:02.1", "no driver", "vfio-pci"}},
		"no processor":    {software(512, "p1", "p2"), without(laptop(8), func(m *Machine) { m.Processors = nil }), []string{"no processor"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Configure(c.config, "nodrop-test", func(n string) string { return env[n] }, c.machine)
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

// software is a server on packet sockets.
func software(frames int, interfaces ...string) Config {
	c := Config{Software: &Software{RingFrames: frames}, RPCPort: 4501}
	for _, name := range interfaces {
		c.Ports = append(c.Ports, Port{Name: "port-" + name, Interface: name})
	}
	return c
}

// resources are ports with cards of one resource.
func resources(name string, count int) []Port {
	var ports []Port
	for i := range count {
		ports = append(ports, Port{Name: fmt.Sprintf("port%d", i), Resource: name})
	}
	return ports
}

// laptop has one NUMA node and no cards.
func laptop(processors int) Machine {
	m := Machine{MTUs: map[string]int{"p1": 1500, "p2": 1500}}
	for p := range processors {
		m.Processors = append(m.Processors, p)
	}
	return m
}

// twoSockets has eight processors and a card at each of two NUMA nodes.
func twoSockets() Machine {
	m := Machine{Nodes: map[int]int{}, Cards: map[string]Card{}, HugePageMiB: 1024}
	for p := range 16 {
		m.Processors = append(m.Processors, p)
		m.Nodes[p] = p / 8
	}
	for node, bus := range []string{"3b", "d8"} {
		for _, function := range []string{"0", "1", "2", "3"} {
			m.Cards["0000:"+bus+":02."+function] = Card{Node: node, Driver: "vfio-pci"}
		}
	}
	return m
}

// shared is a server that shares its processors.
func shared(c Config) Config {
	c.Shared = true
	return c
}

// emulated is a machine of QEMU with two cards of the type igb.
func emulated(processors int) Machine {
	m := Machine{HugePageMiB: 2, Cards: map[string]Card{}}
	for p := range processors {
		m.Processors = append(m.Processors, p)
	}
	for _, address := range []string{"0000:01:00.0", "0000:02:00.0"} {
		m.Cards[address] = Card{Node: -1, Driver: "vfio-pci", ID: "8086:10c9"}
	}
	return m
}

func without(m Machine, change func(*Machine)) Machine {
	change(&m)
	return m
}
