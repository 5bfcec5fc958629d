package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// manual is the page that says what to install.
const manual = "see docs/own-cluster.md"

// Needs are the requests of a bed's traffic pods, by node, for what not every node
// offers: devices of device plugins, huge pages and processors.
func Needs(bed *v1alpha1.TestBed) map[string]corev1.ResourceList {
	needs := map[string]corev1.ResourceList{}
	add := func(node string, name corev1.ResourceName, q resource.Quantity) {
		if needs[node] == nil {
			needs[node] = corev1.ResourceList{}
		}
		sum := needs[node][name]
		sum.Add(q)
		needs[node][name] = sum
	}
	if bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return needs
	}
	pods := map[string]bool{}
	for _, p := range bed.Spec.Ports {
		if p.Attachment != nil && p.Attachment.SRIOV != nil {
			add(p.Node, corev1.ResourceName(p.Attachment.SRIOV.ResourceName), *resource.NewQuantity(1, resource.DecimalSI))
		}
		if pods[p.Node] {
			continue
		}
		pods[p.Node] = true
		if own := bed.Spec.Engine.OwnCPUs(); !own.IsZero() {
			add(p.Node, corev1.ResourceCPU, own)
		}
		trex := bed.Spec.Engine.Server()
		if trex == nil {
			continue
		}
		server, agent := trex.CPURequests()
		add(p.Node, corev1.ResourceCPU, server)
		add(p.Node, corev1.ResourceCPU, agent)
		if pages := trex.HugePages; pages != nil {
			add(p.Node, corev1.ResourceName(corev1.ResourceHugePagesPrefix+pages.PageSize), pages.Total)
		}
	}
	return needs
}

// Missing describes the needs of a bed that a node does not meet, and what to do; empty if
// it meets all. Current use by others does not count.
func Missing(node string, engine v1alpha1.EngineKind, needs, allocatable corev1.ResourceList) string {
	var all []string
	for _, name := range slices.SortedFunc(maps.Keys(needs), byKind) {
		need := needs[name]
		has, known := allocatable[name]
		if has.Cmp(need) >= 0 {
			continue
		}
		all = append(all, missing(node, engine, name, need, has, known))
	}
	return strings.Join(all, "; ")
}

// byKind orders resources: devices first, as nothing works without them.
func byKind(a, b corev1.ResourceName) int {
	return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(a, b))
}

func kind(name corev1.ResourceName) int {
	switch {
	case name == corev1.ResourceCPU:
		return 2
	case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return 1
	}
	return 0
}

// decimal writes processors as a decimal number: 4.9 and not 4900m.
func decimal(q resource.Quantity) string {
	return strconv.FormatFloat(float64(q.MilliValue())/1000, 'f', -1, 64)
}

func missing(node string, engine v1alpha1.EngineKind, name corev1.ResourceName, need, has resource.Quantity, known bool) string {
	size, pages := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	switch {
	case name == corev1.ResourceCPU:
		all, remedy := fmt.Sprintf("node %s has %s processors for pods, and the traffic pod needs %s", node, decimal(has), decimal(need)), "put the ports on a larger node"
		// A fraction is the agent's, or shared by both.
		if own := need.MilliValue() / 1000; own > 0 {
			return fmt.Sprintf("%s, of which %d are for it alone: lower engine.%s.cpus, or %s", all, own, engine, remedy)
		}
		return all + ": " + remedy
	case pages:
		return fmt.Sprintf("node %s has %s in huge pages of %s, and TRex needs %s: reserve them at boot, with hugepagesz and hugepages on the kernel's command line, and restart the kubelet; %s",
			node, has.String(), size, need.String(), manual)
	case !known:
		return fmt.Sprintf("node %s offers no %s: install the SR-IOV network device plugin and add a resource of this name to its ConfigMap; %s", node, name, manual)
	case has.IsZero():
		return fmt.Sprintf("node %s offers 0 of %s: its device plugin knows the resource and finds no card for it: check that its virtual functions exist and are bound to the driver that the ConfigMap selects; %s", node, name, manual)
	}
	return fmt.Sprintf("node %s offers %s of %s, and the ports of the bed need %s: add devices to the resource in the device plugin's ConfigMap, or use fewer ports", node, has.String(), name, need.String())
}
