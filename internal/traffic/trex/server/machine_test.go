package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThisMachine reads a machine of two NUMA nodes with three cards.
func TestThisMachine(t *testing.T) {
	proc, sys := t.TempDir(), t.TempDir()
	write(t, proc, map[string]string{
		"self/status":    "Name:\tnodrop\nCpus_allowed:\tf0f\nCpus_allowed_list:\t0-1,3,8-9\nMems_allowed_list:\t0-1\n",
		"self/mountinfo": "22 1 0:20 / /proc rw - proc proc rw\n31 1 0:27 / /dev/hugepages rw,relatime - hugetlbfs nodev rw,pagesize=1024M\n",
	})
	write(t, sys, map[string]string{
		"devices/system/node/node0/cpulist":             "0-3\n",
		"devices/system/node/node1/cpulist":             "8-11\n",
		"devices/system/node/possible":                  "0-1\n",
		"bus/pci/devices/0000:3b:02.0/numa_node":        "0\n",
		"bus/pci/devices/0000:3b:02.0/driver/module":    "",
		"bus/pci/devices/0000:3b:02.0/vendor":           "0x8086\n",
		"bus/pci/devices/0000:3b:02.0/device":           "0x10c9\n",
		"bus/pci/devices/0000:d8:02.0/numa_node":        "1\n",
		"bus/pci/devices/0000:00:1f.0/numa_node":        "-1\n",
		"bus/pci/devices/0000:00:1f.0/driver_override":  "",
		"bus/pci/devices/0000:ff:1f.0/no_numa_node_too": "",
	})
	drivers := filepath.Join(sys, "bus/pci/drivers/vfio-pci")
	if err := os.MkdirAll(drivers, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(drivers, filepath.Join(sys, "bus/pci/devices/0000:d8:02.0/driver")); err != nil {
		t.Fatal(err)
	}
	m, err := ThisMachine(proc, sys)
	if err != nil {
		t.Fatal(err)
	}
	if mtu := m.MTUs["lo"]; mtu == 0 {
		t.Error("the loopback interface has no MTU")
	}
	m.MTUs = nil
	want := Machine{
		Processors: []int{0, 1, 3, 8, 9},
		Nodes:      map[int]int{0: 0, 1: 0, 2: 0, 3: 0, 8: 1, 9: 1, 10: 1, 11: 1},
		Cards: map[string]Card{
			"0000:3b:02.0": {Node: 0, ID: "8086:10c9"},
			"0000:d8:02.0": {Node: 1, Driver: "vfio-pci"},
			"0000:00:1f.0": {Node: -1},
			"0000:ff:1f.0": {Node: -1},
		},
		HugePageMiB: 1024,
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestThisMachineWithoutMuch reads a machine without NUMA, PCI bus and huge pages.
func TestThisMachineWithoutMuch(t *testing.T) {
	proc := t.TempDir()
	write(t, proc, map[string]string{"self/status": "Cpus_allowed_list:\t0-1\n", "self/mountinfo": ""})
	m, err := ThisMachine(proc, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Processors) != 2 || len(m.Nodes) != 0 || len(m.Cards) != 0 || m.HugePageMiB != 0 {
		t.Errorf("%+v", m)
	}
}

func TestThisMachineErrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no status":     {map[string]string{}, "no such file"},
		"no processors": {map[string]string{"self/status": "Name:\tnodrop\n"}, "no Cpus_allowed_list"},
		"no list":       {map[string]string{"self/status": "Cpus_allowed_list:\t0-x\n"}, `"0-x" is no list of processors`},
		"page size":     {map[string]string{"self/status": "Cpus_allowed_list:\t0\n", "self/mountinfo": "31 1 0:27 / /h rw - hugetlbfs nodev rw,pagesize=64K\n"}, "64K"},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			write(t, proc, c.files)
			if _, err := ThisMachine(proc, t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// write writes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
