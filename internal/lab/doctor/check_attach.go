package doctor

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// virtualFunctions counts the functions of the node's cards. If there are none, the device
// plugin cannot offer any.
func virtualFunctions(f Facts, n Node, e Engine) verdict {
	if !offersDevices(f, n) || !n.Probe.IsKnown() {
		return verdict{}
	}
	var has int
	var able []string
	for _, c := range n.Probe.Value.Cards {
		switch {
		case c.VirtualFunction:
			has++
		case c.VirtualFunctions > 0:
			able = append(able, fmt.Sprintf("%s (%s, up to %d)", c.Address, driverOf(c), c.VirtualFunctions))
		}
	}
	if has > 0 {
		return good(fmt.Sprintf("%d on PCI", has))
	}
	if len(able) == 0 || devicePlugin(f, n, e).level != Missing {
		return verdict{} // The device plugin offers whole cards.
	}
	address, _, _ := strings.Cut(able[0], " ")
	return missing("no card has any: "+strings.Join(able, ", "),
		"make them on the node, such as echo 1 > /sys/bus/pci/devices/"+address+"/sriov_numvfs, and restart the device plugin")
}

// offersDevices reports whether ports of the bed on the node are devices of a device plugin.
func offersDevices(f Facts, n Node) bool {
	return f.Bed != nil && slices.ContainsFunc(f.Bed.Spec.Ports, func(p v1alpha1.Port) bool {
		return p.Node == n.Name && p.Attachment != nil && p.Attachment.SRIOV != nil
	})
}

// remedies are the parts of messages about a pod that did not get its interfaces, and what to
// do about them.
var remedies = []struct{ part, advice string }{
	{"failed to find plugin", "install the CNI plugin of this name on the node, in the folder that the message names; the SR-IOV CNI is the plugin \"sriov\""},
	{"incompatible CNI versions", "update the CNI plugin on the node, or set an earlier cniVersion in the network"},
	{"network-attachment-definition", "create the network that the message names in the lab's namespace"},
	{"Multus did not handle", "put Multus before the pod network in the CNI configuration of the node (/etc/cni/net.d)"},
	{"Insufficient", "make the device plugin offer the devices, or wait until the pods that use them have ended"},
	{"cannot allocate all claims", "check the ResourceSlices of the node against the selectors of the claim templates: kubectl get resourceslices -o yaml"},
	{"FailedPrepareDynamicResources", "see the log of the driver on the node"},
}

// interfacesInPods checks that a pod on the node can have the interfaces of the bed's ports.
func interfacesInPods(f Facts, n Node, _ Engine) verdict {
	switch {
	case f.Bed == nil || n.Attached == nil:
		return verdict{}
	case !n.Attached.IsKnown():
		return unknown(n.Attached.Unknown)
	case n.Attached.Value == "":
		return good("a pod had the interfaces of all ports on this node")
	}
	for _, r := range remedies {
		if strings.Contains(n.Attached.Value, r.part) {
			return missing(n.Attached.Value, r.advice)
		}
	}
	return missing(n.Attached.Value, "see the log of Multus and of the CNI plugin on the node")
}
