package preflight

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// offer is a list of resources, as name and quantity in turn.
func offer(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestNeeds(t *testing.T) {
	two, eight := int32(2), int32(8)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.TestBed)
		want   map[string]corev1.ResourceList
	}{
		"interfaces of the node": {func(*v1alpha1.TestBed) {}, nil},
		"claims":                 {claims("", ""), nil},
		"cards of one pool":      {cards("4Gi"), map[string]corev1.ResourceList{"node1": offer("intel.com/dut", "2", "hugepages-1Gi", "4Gi", "cpu", "4900m")}},
		"a server on each node": {func(b *v1alpha1.TestBed) {
			cards("2Gi")(b)
			b.Spec.Engine.TRex.CPUs, b.Spec.Ports[1].Node = &eight, "node2"
		}, map[string]corev1.ResourceList{
			"node1": offer("intel.com/dut", "1", "hugepages-1Gi", "2Gi", "cpu", "8900m"),
			"node2": offer("intel.com/dut", "1", "hugepages-1Gi", "2Gi", "cpu", "8900m"),
		}},
		"cards without TRex": {func(b *v1alpha1.TestBed) { cards("4Gi")(b); b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineXDP} }, map[string]corev1.ResourceList{"node1": offer("intel.com/dut", "2")}},
		"processors of the engine xdp": {func(b *v1alpha1.TestBed) {
			b.Spec.Engine.XDP = &v1alpha1.XDPEngine{CPUs: &two}
		}, map[string]corev1.ResourceList{"node1": offer("cpu", "2")}},
		"packet sockets": {sockets, map[string]corev1.ResourceList{"node1": offer("cpu", "600m")}},
		"packet sockets with processors of their own": {func(b *v1alpha1.TestBed) { sockets(b); b.Spec.Engine.TRex.CPUs = &two }, map[string]corev1.ResourceList{"node1": offer("cpu", "2900m")}},
		"cards that are only modelled":                {func(b *v1alpha1.TestBed) { cards("4Gi")(b); b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := bed("one", tc.change)
			got := Needs(&b)
			if len(got) != len(tc.want) {
				t.Fatalf("%v, want %v", got, tc.want)
			}
			for node, want := range tc.want {
				if len(got[node]) != len(want) {
					t.Errorf("%s: %v, want %v", node, got[node], want)
				}
				for name, q := range want {
					if has := got[node][name]; has.Cmp(q) != 0 {
						t.Errorf("%s: %s of %s, want %s", node, has.String(), name, q.String())
					}
				}
			}
		})
	}
}

func TestMissing(t *testing.T) {
	needs := offer("cpu", "4900m", "hugepages-1Gi", "4Gi", "intel.com/dut_p1", "1", "intel.com/dut_p2", "2")
	for name, tc := range map[string]struct {
		allocatable corev1.ResourceList
		want        string
	}{
		"nothing":     {offer("cpu", "16", "hugepages-1Gi", "8Gi", "hugepages-2Mi", "0", "intel.com/dut_p1", "1", "intel.com/dut_p2", "4"), ""},
		"just enough": {offer("cpu", "4900m", "hugepages-1Gi", "4Gi", "intel.com/dut_p1", "1", "intel.com/dut_p2", "2"), ""},
		"no device plugin": {offer("cpu", "16", "hugepages-1Gi", "8Gi", "intel.com/dut_p2", "2"),
			"node lab-1 offers no intel.com/dut_p1: install the SR-IOV network device plugin and add a resource of this name to its ConfigMap; see docs/own-cluster.md"},
		"no card": {offer("cpu", "16", "hugepages-1Gi", "8Gi", "intel.com/dut_p1", "0", "intel.com/dut_p2", "2"),
			"node lab-1 offers 0 of intel.com/dut_p1: its device plugin knows the resource and finds no card for it: check that its virtual functions exist and are bound to the driver that the ConfigMap selects; see docs/own-cluster.md"},
		"too few cards": {offer("cpu", "16", "hugepages-1Gi", "8Gi", "intel.com/dut_p1", "1", "intel.com/dut_p2", "1"),
			"node lab-1 offers 1 of intel.com/dut_p2, and the ports of the bed need 2: add devices to the resource in the device plugin's ConfigMap, or use fewer ports"},
		"huge pages of another size": {offer("cpu", "16", "hugepages-1Gi", "0", "hugepages-2Mi", "8Gi", "intel.com/dut_p1", "1", "intel.com/dut_p2", "2"),
			"node lab-1 has 0 in huge pages of 1Gi, and TRex needs 4Gi: reserve them at boot, with hugepagesz and hugepages on the kernel's command line, and restart the kubelet; see docs/own-cluster.md"},
		"a small node, and all else": {offer("cpu", "3500m", "intel.com/dut_p2", "2"),
			"node lab-1 offers no intel.com/dut_p1: install the SR-IOV network device plugin and add a resource of this name to its ConfigMap; see docs/own-cluster.md; " +
				"node lab-1 has 0 in huge pages of 1Gi, and TRex needs 4Gi: reserve them at boot, with hugepagesz and hugepages on the kernel's command line, and restart the kubelet; see docs/own-cluster.md; " +
				"node lab-1 has 3.5 processors for pods, and the traffic pod needs 4.9, of which 4 are for it alone: lower engine.trex.cpus, or put the ports on a larger node"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Missing("lab-1", v1alpha1.EngineTRex, needs, tc.allocatable); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}
