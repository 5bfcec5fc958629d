package probe

import "slices"

// Node contains the properties that were read on a node.
type Node struct {
	// CPUFlags are the flags of FlagsOfInterest that the first processor has.
	CPUFlags []string `json:"cpuFlags,omitempty"`
	// NUMANodes is the number of NUMA nodes; 0 if the kernel shows none.
	NUMANodes int `json:"numaNodes,omitempty"`
	// HugePages that the kernel holds, one for each size.
	HugePages []HugePages `json:"hugePages,omitempty"`
	// IOMMUGroups is the number of device groups that the IOMMU isolates; 0 if no IOMMU is in
	// use.
	IOMMUGroups int `json:"iommuGroups,omitempty"`
	// CommandLine are the parameters of the kernel that concern IOMMU and huge pages.
	CommandLine []string `json:"commandLine,omitempty"`
	// VFIO reports whether the kernel's driver vfio-pci is loaded.
	VFIO bool `json:"vfio,omitempty"`
	// BPF reports whether the kernel has BPF: the mount point of its file system is there.
	BPF bool `json:"bpf,omitempty"`
	// NoBTF reports that the kernel does not describe its own types, which BPF programs need.
	NoBTF bool `json:"noBTF,omitempty"`
	// PacketSockets reports whether the kernel has them.
	PacketSockets bool `json:"packetSockets,omitempty"`
	// Config contains the options of OptionsOfInterest that the kernel's configuration has,
	// with their values; nil if the kernel does not show its configuration.
	Config map[string]string `json:"config,omitempty"`
	// Cards are the network cards on PCI.
	Cards []Card `json:"cards,omitempty"`
}

// HugePages are the huge pages of one size.
type HugePages struct {
	// SizeBytes of one page.
	SizeBytes int64 `json:"sizeBytes"`
	// Total is their number.
	Total int64 `json:"total"`
}

// Card is a network card on PCI, or a function of one.
type Card struct {
	// Address on PCI, such as 0000:3b:00.0.
	Address string `json:"address"`
	// Vendor as PCI number, such as 0x8086.
	Vendor string `json:"vendor"`
	// Driver that has it; empty for none.
	Driver string `json:"driver,omitempty"`
	// VirtualFunctions is the maximum number of virtual functions of the card.
	VirtualFunctions int `json:"virtualFunctions,omitempty"`
	// VirtualFunction reports whether it is one itself.
	VirtualFunction bool `json:"virtualFunction,omitempty"`
}

// VendorMellanox makes cards that DPDK drives together with the kernel's own driver,
// without VFIO.
const VendorMellanox = "0x15b3"

// FlagsOfInterest of a processor: SSE4.2, which DPDK needs on x86, and a clock
// that neither changes its rate nor stops, which TRex times with.
var FlagsOfInterest = []string{"sse4_2", "constant_tsc", "nonstop_tsc"}

// OptionsOfInterest of the kernel's configuration.
var OptionsOfInterest = []string{"CONFIG_BPF_SYSCALL", "CONFIG_BPF_JIT", "CONFIG_PACKET", "CONFIG_HUGETLBFS", "CONFIG_VFIO_PCI", "CONFIG_IOMMU_SUPPORT"}

// HasFlag reports whether the processor has a flag.
func (n Node) HasFlag(flag string) bool { return slices.Contains(n.CPUFlags, flag) }
