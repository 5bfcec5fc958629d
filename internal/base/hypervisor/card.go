package hypervisor

import (
	"io/fs"
	"path"
)

// emulators are the PCI vendor numbers that emulated cards have as their vendor or as that
// of their subsystem (https://pci-ids.ucw.cz). Cards that a cloud passes through, such as
// Amazon's and Microsoft's, have other ones.
var emulators = map[string]string{
	"0x1af4": "QEMU",
	"0x1b36": "QEMU",
	"0x15ad": "VMware",
	"0x80ee": "VirtualBox",
	"0x1ab8": "Parallels",
	"0x5853": "Xen",
}

// Emulated returns the emulator of a PCI card by its address, such as 0000:01:00.0; empty
// for a card that shows none. It reads /sys below root.
func Emulated(root fs.FS, address string) (string, error) {
	if address == "" || !fs.ValidPath(address) {
		return "", nil // not a PCI card
	}
	for _, file := range []string{"vendor", "subsystem_vendor"} {
		number, err := line(root, path.Join("sys/bus/pci/devices", address, file))
		if err != nil {
			return "", err
		}
		if name := emulators[number]; name != "" {
			return name, nil
		}
	}
	return "", nil
}
