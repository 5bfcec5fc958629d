package hypervisor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// products are the makers and products in the firmware's description (DMI) that only
// virtual machines have. Clouds that also rent bare metal under one name are not here.
var products = []string{"QEMU", "KVM", "Bochs", "VMware", "VirtualBox", "innotek", "Xen", "Parallels", "OpenStack", "Virtual Machine", "BHYVE"}

// Name describes the hypervisor that this machine runs under, such as "QEMU Standard PC";
// empty on bare metal. It reads /proc and /sys below root.
func Name(root fs.FS) (string, error) {
	kind, err := line(root, "sys/hypervisor/type")
	if err != nil {
		return "", err
	}
	vendor, err := line(root, "sys/class/dmi/id/sys_vendor")
	if err != nil {
		return "", err
	}
	product, err := line(root, "sys/class/dmi/id/product_name")
	if err != nil {
		return "", err
	}
	guest, err := flagged(root)
	if err != nil {
		return "", err
	}
	firmware := strings.TrimSpace(vendor + " " + product)
	virtual := slices.ContainsFunc(products, func(name string) bool { return strings.Contains(firmware, name) })
	switch {
	case virtual, guest && firmware != "":
		return firmware, nil
	case kind != "":
		return kind, nil
	case guest:
		return "a hypervisor without a name", nil
	}
	return "", nil
}

// flagged reports whether the processor has the flag of a hypervisor (CPUID leaf 1, bit
// 31 of ECX).
func flagged(root fs.FS) (bool, error) {
	data, err := fs.ReadFile(root, "proc/cpuinfo")
	if err != nil {
		return false, fmt.Errorf("reading the processor's flags: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if key, flags, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(key) == "flags" {
			return slices.Contains(strings.Fields(flags), "hypervisor"), nil
		}
	}
	return false, lines.Err()
}

// line returns the only line of a file; empty if the file does not exist or must not be
// read.
func line(root fs.FS, name string) (string, error) {
	data, err := fs.ReadFile(root, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking for a hypervisor: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
