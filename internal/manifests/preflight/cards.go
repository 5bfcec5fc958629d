package preflight

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// cardProblem refuses an attachment that TRex on DPDK cannot take: the server learns
// the addresses of its cards only from the environment variable of their device plugin.
func cardProblem(at *field.Path, a *v1alpha1.Attachment) *field.Error {
	const instead = "use sriov, with a resource of the SR-IOV network device plugin, or engine.trex.software in place of hugePages"
	switch {
	case a.HostDevice != nil:
		return field.Invalid(at, kindOf(a), "DPDK takes a network card as a device, and hostDevice moves only its interface: "+instead)
	case a.ResourceClaim != nil:
		return field.Invalid(at, kindOf(a), "TRex on DPDK learns the addresses of its cards from the environment variable of their device plugin, and drivers of resource claims set none: "+instead)
	}
	return nil
}

// setting is one that the network of a port makes on its card.
type setting struct {
	name  string
	value any
}

// settingsOf are the settings of a port's card, with their defaults.
func settingsOf(a *v1alpha1.SRIOVAttachment) []setting {
	return []setting{
		{"networkName", a.NetworkName},
		{"vlan", valueOr(a.VLAN, 0)},
		{"trust", valueOr(a.Trust, true)},
		{"spoofCheck", valueOr(a.SpoofCheck, false)},
	}
}

func valueOr[T any](given *T, otherwise T) T {
	if given != nil {
		return *given
	}
	return otherwise
}

// sharedResources refuses ports that share a resource on one node and have different
// settings. The kubelet lists the devices of a pod in unrelated orders to Multus, which
// sets cards up, and to the device plugin, whose order TRex uses. A card could get the
// settings of another port.
func sharedResources(path *field.Path, ports []v1alpha1.Port) field.ErrorList {
	type place struct{ node, resource string }
	first := map[place]v1alpha1.Port{}
	var problems field.ErrorList
	for i, p := range ports {
		if p.Attachment == nil || p.Attachment.SRIOV == nil {
			continue
		}
		at := place{p.Node, p.Attachment.SRIOV.ResourceName}
		other, shared := first[at]
		if !shared {
			first[at] = p
			continue
		}
		theirs := settingsOf(other.Attachment.SRIOV)
		for k, own := range settingsOf(p.Attachment.SRIOV) {
			if own != theirs[k] {
				problems = append(problems, field.Invalid(path.Index(i).Child("attachment", "sriov", own.name), own.value, fmt.Sprintf(
					"port %s on node %s shares resource %s with port %s and has %s %s, and TRex cannot tell which card is set up for which of them: give each port its own resource, or equal settings",
					other.Name, p.Node, at.resource, p.Name, own.name, written(theirs[k].value))))
				break
			}
		}
	}
	return problems
}

// written is a value of a setting, in quotes where it may be empty.
func written(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}
