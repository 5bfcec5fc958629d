package preflight

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// maxTRexPorts is the maximum number of ports of one TRex server (TREX_MAX_PORTS of v3.08).
// It takes them in twos, so that an odd number leaves one unused.
const maxTRexPorts = 32

// attachmentProblems returns the problems with the attachment of interfaces to traffic pods.
func attachmentProblems(path *field.Path, bed *v1alpha1.TestBed) field.ErrorList {
	problems := distinctInterfaces(path, bed.Spec.Ports)
	problems = append(problems, distinctNames(path, bed.Spec.Ports)...)
	if bed.Spec.Engine.Server() != nil {
		problems = append(problems, serverPorts(path, bed.Spec.Ports)...)
	}
	onCards := bed.Spec.Engine.TRexMode() == v1alpha1.TRexOnCards
	if onCards {
		problems = append(problems, sharedResources(path, bed.Spec.Ports)...)
	}
	for i, p := range bed.Spec.Ports {
		if p.Attachment == nil {
			continue
		}
		at := path.Index(i).Child("attachment")
		switch {
		case device.Of(bed.Spec.Device).OnNode && p.Attachment.HostDevice == nil:
			problems = append(problems, field.Invalid(at, kindOf(p.Attachment),
				"the links of a containerlab device are interfaces of the node itself: give hostDevice with the interface that the topology names, or a physical device"))
		case onCards:
			if refused := cardProblem(at, p.Attachment); refused != nil {
				problems = append(problems, refused)
			}
		}
	}
	return problems
}

// hugePagesProblems refuses huge pages that are not whole.
func hugePagesProblems(path *field.Path, pages *v1alpha1.TRexHugePages) field.ErrorList {
	if pages == nil {
		return nil
	}
	page, err := resource.ParseQuantity(pages.PageSize)
	if total := pages.Total.Value(); err != nil || total <= 0 || total%page.Value() != 0 {
		return problem(path.Child("total"), pages.Total.String(), fmt.Sprintf("pages have %s: give a multiple of it, such as 4Gi", pages.PageSize))
	}
	return nil
}

// kindOf names the member of an attachment that is given.
func kindOf(a *v1alpha1.Attachment) string {
	switch {
	case a.SRIOV != nil:
		return "sriov"
	case a.ResourceClaim != nil:
		return "resourceClaim"
	}
	return "hostDevice"
}

// serverPorts refuses more ports on one node than its TRex server takes.
func serverPorts(path *field.Path, ports []v1alpha1.Port) field.ErrorList {
	count := map[string]int{}
	for _, p := range ports {
		count[p.Node]++
	}
	for i, p := range ports {
		if n := count[p.Node]; n > maxTRexPorts {
			return problem(path.Index(i).Child("node"), p.Node, fmt.Sprintf(
				"%d ports of the bed are on this node, and a TRex server takes %d: put at most %d on one node", n, maxTRexPorts, maxTRexPorts))
		}
	}
	return nil
}

// distinctNames refuses interfaces of resource claims with the same name in a traffic
// pod. All others have the name of their port there.
func distinctNames(path *field.Path, ports []v1alpha1.Port) field.ErrorList {
	type place struct{ node, name string }
	users := map[place]string{}
	for _, p := range ports {
		if name, own := nameInPod(p); !own {
			users[place{p.Node, name}] = p.Name
		}
	}
	var problems field.ErrorList
	for i, p := range ports {
		name, own := nameInPod(p)
		if !own {
			continue
		}
		at := path.Index(i).Child("attachment", "resourceClaim", "interface")
		user, taken := users[place{p.Node, name}]
		switch {
		case slices.Contains(reservedInterfaces, name):
			problems = append(problems, field.Invalid(at, name, "this interface exists in every pod already: let the driver use another name, such as that of the port"))
		case taken:
			problems = append(problems, field.Invalid(at, name, fmt.Sprintf("port %s has an interface of this name in the traffic pod of node %s already: every port needs its own", user, p.Node)))
		}
		users[place{p.Node, name}] = p.Name
	}
	return problems
}

// nameInPod is the name of a port's interface in its traffic pod, and whether the bed
// sets it.
func nameInPod(p v1alpha1.Port) (name string, own bool) {
	if p.Attachment != nil && p.Attachment.ResourceClaim != nil && p.Attachment.ResourceClaim.Interface != "" {
		return p.Attachment.ResourceClaim.Interface, true
	}
	return p.Name, false
}

func distinctInterfaces(path *field.Path, ports []v1alpha1.Port) field.ErrorList {
	type place struct{ node, name string }
	users := map[place]string{}
	var problems field.ErrorList
	for i, p := range ports {
		if p.Attachment == nil || p.Attachment.HostDevice == nil {
			continue
		}
		at := place{p.Node, p.Attachment.HostDevice.Interface}
		if user, taken := users[at]; taken {
			problems = append(problems, field.Invalid(path.Index(i).Child("attachment", "hostDevice", "interface"), at.name,
				fmt.Sprintf("port %s has this interface of node %s already: every port needs its own", user, at.node)))
			continue
		}
		users[at] = p.Name
	}
	return problems
}

// attachmentWarnings warn of settings that are allowed and probably not meant.
func attachmentWarnings(bed *v1alpha1.TestBed) []string {
	var warnings []string
	if bed.Spec.Engine.TRexMode() == v1alpha1.TRexInSoftware {
		warnings = append(warnings, "spec.engine: TRex in software sends some hundred thousand frames per second through packet sockets: its results are Virtual; use hugePages and network cards for line rate")
	}
	for i, p := range bed.Spec.Ports {
		if p.Attachment == nil || p.Attachment.SRIOV == nil {
			continue
		}
		path := fmt.Sprintf("spec.ports[%d].attachment.sriov", i)
		if trust := p.Attachment.SRIOV.Trust; trust != nil && !*trust {
			warnings = append(warnings, path+".trust is false: the card drops what is not addressed to the port, so that profiles with packet ethernet, multicast groups and the address tests lose every frame: leave it out, or use the bed for IP unicast only")
		}
		if check := p.Attachment.SRIOV.SpoofCheck; check != nil && *check {
			warnings = append(warnings, path+".spoofCheck is true: the card drops what the port sends from other hardware addresses than its own, as profiles with packet ethernet do: leave it out, or use the bed for IP unicast only")
		}
	}
	return warnings
}
