package doctor

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
)

const installPlugin = "install the SR-IOV network device plugin, with a pool of the cards that are cabled to the device"

// devicePlugin checks the devices that the bed needs, or, for TRex at line rate, that
// there is something that looks like a pool of network cards.
func devicePlugin(f Facts, n Node, e Engine) verdict {
	if f.Bed == nil {
		if e != TRex {
			return verdict{}
		}
		return anyPool(f, n)
	}
	var seen, lacking []string
	wanted := needs(f, n, e)
	for _, name := range of(wanted, isDevice) {
		has, want := n.Allocatable[name], wanted[name]
		text := fmt.Sprintf("%s: %s allocatable, %s for the bed", name, &has, &want)
		seen = append(seen, text)
		if has.Cmp(want) < 0 {
			lacking = append(lacking, text)
		}
	}
	switch {
	case len(seen) == 0:
		return verdict{}
	case len(lacking) > 0:
		return missing(strings.Join(lacking, ", "), installPlugin+", or correct resourceName of the ports")
	}
	return good(strings.Join(seen, ", "))
}

func anyPool(f Facts, n Node) verdict {
	var pools []string
	for name, count := range n.Allocatable {
		if !count.IsZero() && (slices.Contains(f.PoolResources, string(name)) || looksLikePool(string(name))) {
			pools = append(pools, fmt.Sprintf("%s: %s", name, &count))
		}
	}
	slices.Sort(pools)
	switch {
	case len(pools) > 0:
		return good(strings.Join(pools, ", "))
	case len(n.Drivers.Value) > 0:
		return good("devices of " + strings.Join(n.Drivers.Value, ", ") + " (dynamic resource allocation)")
	}
	return missing("no resource that looks like network cards", installPlugin)
}

// looksLikePool guesses by the name, where nothing in the cluster uses the resource yet.
func looksLikePool(resource string) bool {
	domain, name, extended := strings.Cut(strings.ToLower(resource), "/")
	if !extended || strings.HasSuffix(domain, "kubernetes.io") {
		return false
	}
	return slices.ContainsFunc([]string{"sriov", "sr-iov", "dpdk", "netdev", "nic"}, func(part string) bool { return strings.Contains(name, part) })
}

// resourceClaims checks that a driver offers devices on the nodes of ports with claims.
func resourceClaims(f Facts, n Node, _ Engine) verdict {
	if f.Bed == nil || !slices.ContainsFunc(f.Bed.Spec.Ports, func(p v1alpha1.Port) bool { return p.Node == n.Name && claims(p) }) {
		return verdict{}
	}
	switch {
	case !n.Drivers.IsKnown():
		return unknown(n.Drivers.Unknown)
	case len(n.Drivers.Value) == 0:
		return missing("no driver offers devices here (ResourceSlices)", "install a driver of dynamic resource allocation for network cards on the node")
	}
	return good("devices of " + strings.Join(n.Drivers.Value, ", "))
}

func networkCards(_ Facts, n Node, _ Engine) verdict {
	if !n.Probe.IsKnown() {
		return unknown(n.Probe.Unknown)
	}
	var seen []string
	for _, c := range n.Probe.Value.Cards {
		if c.VirtualFunctions > 0 && !c.VirtualFunction {
			seen = append(seen, fmt.Sprintf("%s (%s, up to %d functions)", c.Address, driverOf(c), c.VirtualFunctions))
		}
	}
	if len(seen) > 0 {
		return good(strings.Join(seen, ", "))
	}
	return warning(fmt.Sprintf("%d on PCI, none with SR-IOV", len(n.Probe.Value.Cards)), "use a node with a card that DPDK drives; without SR-IOV the device plugin can only hand out whole cards")
}

func driverOf(c probe.Card) string {
	if c.Driver == "" {
		return "no driver"
	}
	return c.Driver
}

// iommu keeps a card's memory accesses within its pod, and DPDK's VFIO needs it.
func iommu(_ Facts, n Node, _ Engine) verdict {
	if !n.Probe.IsKnown() {
		return unknown(n.Probe.Unknown)
	}
	p := n.Probe.Value
	switch {
	case p.IOMMUGroups > 0:
		return good(fmt.Sprintf("%d groups", p.IOMMUGroups))
	case onlyMellanox(p):
		return warning("no IOMMU groups; all cards are ConnectX, which do without", "switch the IOMMU on anyway, to keep cards out of the memory of others")
	case slices.ContainsFunc(p.CommandLine, func(s string) bool { return strings.HasSuffix(s, "_iommu=on") }):
		return missing("no IOMMU groups, though the kernel was booted with "+strings.Join(p.CommandLine, " "), "switch VT-d or AMD-Vi on in the firmware")
	}
	return missing("no IOMMU groups", "switch VT-d or AMD-Vi on in the firmware, and boot with intel_iommu=on iommu=pt (Intel) or iommu=pt (AMD)")
}

func vfio(_ Facts, n Node, _ Engine) verdict {
	if !n.Probe.IsKnown() {
		return unknown(n.Probe.Unknown)
	}
	switch p := n.Probe.Value; {
	case p.VFIO:
		return good("the driver vfio-pci is there")
	case onlyMellanox(p):
		return good("not there; all cards are ConnectX, which do without")
	case p.Config != nil && p.Config["CONFIG_VFIO_PCI"] == "":
		return missing("the kernel has no VFIO (CONFIG_VFIO_PCI is not set)", "use a kernel with CONFIG_VFIO_PCI: kernels of distributions have it")
	}
	return missing("the driver vfio-pci is not loaded", "load the module vfio-pci on the node at boot (/etc/modules-load.d)")
}

// onlyMellanox reports whether all cards that could be allocated need no VFIO.
func onlyMellanox(p probe.Node) bool {
	able := slices.DeleteFunc(slices.Clone(p.Cards), func(c probe.Card) bool { return c.VirtualFunctions == 0 && !c.VirtualFunction })
	return len(able) > 0 && !slices.ContainsFunc(able, func(c probe.Card) bool { return c.Vendor != probe.VendorMellanox })
}
