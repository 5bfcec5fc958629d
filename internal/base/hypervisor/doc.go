// Package hypervisor detects whether this machine is virtual, and which of its network
// cards a hypervisor emulates. Figures that were measured through an emulated card
// describe software. A card that a hypervisor passes through (VFIO) looks the same in the
// guest as an emulated one, except where an emulator writes its own vendor number into the
// card's PCI subsystem.
package hypervisor
