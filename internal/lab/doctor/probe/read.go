package probe

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Read reads a node whose root directory is given. What does not exist is left out;
// an error means that /sys or /proc themselves are missing.
func Read(root fs.FS) (Node, error) {
	var n Node
	for _, dir := range []string{"sys/kernel", "proc"} {
		if _, err := fs.Stat(root, dir); err != nil {
			return n, fmt.Errorf("reading the node: %w: run it in a pod or on the node itself", err)
		}
	}
	n.CPUFlags = flags(text(root, "proc/cpuinfo"))
	n.NUMANodes = len(entries(root, "sys/devices/system/node", func(name string) bool {
		rest, ok := strings.CutPrefix(name, "node")
		_, err := strconv.Atoi(rest)
		return ok && err == nil
	}))
	n.HugePages = hugePages(root)
	n.IOMMUGroups = len(entries(root, "sys/kernel/iommu_groups", nil))
	n.CommandLine = parameters(text(root, "proc/cmdline"))
	n.VFIO = exists(root, "sys/bus/pci/drivers/vfio-pci")
	n.BPF = exists(root, "sys/fs/bpf")
	n.NoBTF = n.BPF && !exists(root, "sys/kernel/btf/vmlinux")
	n.Config = config(root)
	n.Cards = cards(root)
	return n, nil
}

func flags(cpuinfo string) []string {
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "flags" {
			continue
		}
		has := strings.Fields(value)
		var found []string
		for _, flag := range FlagsOfInterest {
			if slices.Contains(has, flag) {
				found = append(found, flag)
			}
		}
		return found
	}
	return nil
}

func hugePages(root fs.FS) []HugePages {
	const dir = "sys/kernel/mm/hugepages"
	var all []HugePages
	for _, name := range entries(root, dir, nil) {
		size, ok := strings.CutPrefix(name, "hugepages-")
		kib, err := strconv.ParseInt(strings.TrimSuffix(size, "kB"), 10, 64)
		if !ok || err != nil {
			continue
		}
		all = append(all, HugePages{SizeBytes: kib << 10, Total: int64(number(root, path.Join(dir, name, "nr_hugepages")))})
	}
	slices.SortFunc(all, func(a, b HugePages) int { return int(a.SizeBytes - b.SizeBytes) })
	return all
}

// parameters returns the parameters of interest only: the rest of the command line may
// be private.
func parameters(cmdline string) []string {
	var found []string
	for _, p := range strings.Fields(cmdline) {
		name, _, _ := strings.Cut(p, "=")
		switch name {
		case "intel_iommu", "amd_iommu", "iommu", "iommu.passthrough", "hugepages", "hugepagesz", "default_hugepagesz":
			found = append(found, p)
		}
	}
	return found
}

func config(root fs.FS) map[string]string {
	file, err := root.Open("proc/config.gz")
	if err != nil {
		return nil
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil
	}
	found := map[string]string{}
	lines := bufio.NewScanner(plain)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if ok && slices.Contains(OptionsOfInterest, name) {
			found[name] = value
		}
	}
	if lines.Err() != nil {
		return nil
	}
	return found
}

func cards(root fs.FS) []Card {
	const dir, networkClass = "sys/bus/pci/devices", "0x02"
	var all []Card
	for _, address := range entries(root, dir, nil) {
		device := path.Join(dir, address)
		if !strings.HasPrefix(text(root, path.Join(device, "class")), networkClass) {
			continue
		}
		card := Card{
			Address: address, Vendor: text(root, path.Join(device, "vendor")),
			VirtualFunctions: number(root, path.Join(device, "sriov_totalvfs")),
			VirtualFunction:  exists(root, path.Join(device, "physfn")),
		}
		if driver, err := fs.ReadLink(root, path.Join(device, "driver")); err == nil {
			card.Driver = path.Base(driver)
		}
		all = append(all, card)
	}
	return all
}

func text(root fs.FS, name string) string {
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

func number(root fs.FS, name string) int {
	n, err := strconv.Atoi(text(root, name))
	if err != nil {
		return 0
	}
	return n
}

func exists(root fs.FS, name string) bool {
	_, err := fs.Stat(root, name)
	return err == nil
}

func entries(root fs.FS, dir string, keep func(name string) bool) []string {
	all, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range all {
		if keep == nil || keep(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names
}
