package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Machine describes the machine that the server runs on.
type Machine struct {
	// Processors that this process may use, in ascending order.
	Processors []int
	// Nodes holds the NUMA node of each processor; without an entry it is 0.
	Nodes map[int]int
	// Cards holds the machine's network cards by PCI address.
	Cards map[string]Card
	// HugePageMiB is the size of a huge page where this process has them mounted, in
	// MiB; 0 where it has none.
	HugePageMiB int
	// MTUs holds the MTU of each interface by its name.
	MTUs map[string]int
}

// Card is a PCI device.
type Card struct {
	// Node is the NUMA node that it is at; -1 where the kernel knows none, as in most
	// virtual machines.
	Node int
	// Driver of the kernel that it is bound to, such as vfio-pci; empty for none.
	Driver string
	// ID is its vendor and device, such as 8086:10c9; empty where they cannot be read.
	ID string
}

// ThisMachine reads what Machine holds from proc and sys, which are the root
// directories of those file systems, and the interfaces from the kernel.
func ThisMachine(proc, sys string) (Machine, error) {
	m := Machine{Nodes: map[int]int{}, Cards: map[string]Card{}, MTUs: map[string]int{}}
	status, err := os.ReadFile(filepath.Join(proc, "self/status"))
	if err != nil {
		return m, fmt.Errorf("reading which processors may be used: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			m.Processors, err = numbers(list)
		}
	}
	if err == nil && len(m.Processors) == 0 {
		err = errors.New("there is no Cpus_allowed_list")
	}
	if err != nil {
		return m, fmt.Errorf("reading which processors may be used: %w", err)
	}
	if err := m.readNodes(filepath.Join(sys, "devices/system/node")); err != nil {
		return m, err
	}
	if err := m.readCards(filepath.Join(sys, "bus/pci/devices")); err != nil {
		return m, err
	}
	if m.HugePageMiB, err = hugePage(filepath.Join(proc, "self/mountinfo")); err != nil {
		return m, err
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return m, fmt.Errorf("listing the interfaces: %w", err)
	}
	for _, i := range interfaces {
		m.MTUs[i.Name] = i.MTU
	}
	return m, nil
}

// readNodes reads which processors are at which NUMA node. A kernel without NUMA
// has no such directory.
func (m *Machine) readNodes(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "node[0-9]*/cpulist"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "node"))
		if err != nil {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading the processors of NUMA node %d: %w", node, err)
		}
		processors, err := numbers(string(text))
		if err != nil {
			return fmt.Errorf("reading the processors of NUMA node %d: %w", node, err)
		}
		for _, p := range processors {
			m.Nodes[p] = node
		}
	}
	return nil
}

// readCards reads NUMA node, driver and ID of the PCI devices.
func (m *Machine) readCards(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no PCI bus
	}
	if err != nil {
		return fmt.Errorf("listing the PCI devices: %w", err)
	}
	for _, e := range entries {
		card := Card{Node: -1}
		// What cannot be read is not known: a kernel without NUMA, no driver.
		if text, err := os.ReadFile(filepath.Join(dir, e.Name(), "numa_node")); err == nil {
			if node, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				card.Node = node
			}
		}
		if driver, err := os.Readlink(filepath.Join(dir, e.Name(), "driver")); err == nil {
			card.Driver = filepath.Base(driver)
		}
		vendor, device := identifier(filepath.Join(dir, e.Name(), "vendor")), identifier(filepath.Join(dir, e.Name(), "device"))
		if vendor != "" && device != "" {
			card.ID = vendor + ":" + device
		}
		m.Cards[e.Name()] = card
	}
	return nil
}

// identifier reads a file of a PCI device with a number such as 0x8086; it is empty where
// the file cannot be read.
func identifier(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(string(text)), "0x")
}

// hugePage reads the page size of the first hugetlbfs that is mounted, in MiB.
func hugePage(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading what is mounted: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		_, after, _ := strings.Cut(line, " - ")
		kind, options, _ := strings.Cut(strings.TrimSpace(after), " ")
		if kind != "hugetlbfs" {
			continue
		}
		for option := range strings.SplitSeq(options, ",") {
			if size, ok := strings.CutPrefix(option, "pagesize="); ok {
				page, err := strconv.Atoi(strings.TrimSuffix(size, "M"))
				if err != nil {
					return 0, fmt.Errorf("huge pages of size %s are mounted, and TRex takes those of 2M or 1G", size)
				}
				return page, nil
			}
		}
	}
	return 0, nil
}

// numbers reads a list as the kernel writes it, such as 0-3,8,10-11.
func numbers(list string) ([]int, error) {
	var all []int
	list = strings.TrimSpace(list)
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			continue
		}
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of processors: %w", list, err)
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(high); err != nil {
				return nil, fmt.Errorf("%q is no list of processors: %w", list, err)
			}
		}
		for n := first; n <= last; n++ {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}
