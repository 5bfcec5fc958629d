package doctor

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// whole is a cluster of one node that has everything for all engines.
func whole() Facts {
	return Facts{
		Lab:        "nodrop-lab",
		Namespace:  "nodrop-system",
		Kubernetes: Known("v1.36.3"),
		Kinds: Known([]string{
			"nodrop.dev/v1alpha1/testbeds", "nodrop.dev/v1alpha1/trafficprofiles", "nodrop.dev/v1alpha1/benchmarks",
			"k8s.cni.cncf.io/v1/network-attachment-definitions", "resource.k8s.io/v1/resourceclaimtemplates",
		}),
		Operator: Known(&Operator{Ready: 1, Replicas: 1, TRexImage: "example.test/trex:v3.08"}),
		Multus:   Known([]DaemonSet{{Name: "kube-system/kube-multus-ds", Ready: 1, Desired: 1}}),
		Admission: map[Engine]Seen[string]{
			XDP: Known(""), TRexSoftware: Known(""), TRex: Known(""), Containerlab: Known(""),
		},
		Started: Known(map[string]string{"node1": "team-routing/router"}),
		Nodes:   []Node{wholeNode("node1")},
	}
}

func wholeNode(name string) Node {
	return Node{
		Name: name,
		Info: corev1.NodeSystemInfo{
			KernelVersion: "6.12.41+deb13-amd64", Architecture: "amd64",
			KubeletVersion: "v1.36.3", ContainerRuntimeVersion: "containerd://2.4.2",
		},
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("16"),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			"hugepages-1Gi":       resource.MustParse("8Gi"),
			"hugepages-2Mi":       resource.MustParse("0"),
			"intel.com/sriov_p":   resource.MustParse("4"),
		},
		Kubelet: Known(Kubelet{CPUManagerPolicy: "static", TopologyManagerPolicy: "single-numa-node"}),
		Probe: Known(probe.Node{
			CPUFlags: []string{"sse4_2", "constant_tsc", "nonstop_tsc"}, NUMANodes: 2, IOMMUGroups: 83,
			HugePages: []probe.HugePages{{SizeBytes: 1 << 30, Total: 8}},
			VFIO:      true, BPF: true, PacketSockets: true,
			Cards: []probe.Card{{Address: "0000:3b:00.0", Vendor: "0x8086", Driver: "ice", VirtualFunctions: 64}},
		}),
	}
}

// node changes the node.
func node(change func(*Node)) func(*Facts) {
	return func(f *Facts) { change(&f.Nodes[0]) }
}

// probed changes what the node says of itself.
func probed(change func(*probe.Node)) func(*Facts) {
	return node(func(n *Node) { change(&n.Probe.Value) })
}

// bed asks for a bed of two ports on node1, and says that the operator found it
// ready.
func bed(engine v1alpha1.Engine, attachment v1alpha1.Attachment, change ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		f.Bed = objects.TestBed("switch", objects.Generation(2))
		f.Bed.Spec.Engine = engine
		for _, name := range []string{"p1", "p2"} {
			f.Bed.Spec.Ports = append(f.Bed.Spec.Ports, v1alpha1.Port{Name: name, Node: "node1", Attachment: &attachment})
		}
		f.Bed.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2,
			Reason: v1alpha1.ReasonBedReady, Message: "benchmarks can lease the bed",
		}}
		for _, c := range change {
			c(f)
		}
	}
}

var (
	xdpEngine  = v1alpha1.Engine{Kind: v1alpha1.EngineXDP}
	ownEngine  = v1alpha1.Engine{Kind: v1alpha1.EngineXDP, XDP: &v1alpha1.XDPEngine{CPUs: new(int32(2))}}
	trexEngine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{
		HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi", Total: resource.MustParse("4Gi")},
	}}
	hostDevice = v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: "eth1"}}
	sriov      = v1alpha1.Attachment{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: "intel.com/sriov_p"}}
	sriovNamed = v1alpha1.Attachment{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: "intel.com/sriov_p", NetworkName: "dut"}}
	claim      = v1alpha1.Attachment{ResourceClaim: &v1alpha1.ResourceClaimAttachment{TemplateName: "dut-card"}}
)

// attached is a node on which a pod tried to have the interfaces of the bed.
func attached(result Seen[string]) func(*Facts) {
	return node(func(n *Node) { n.Attached = &result })
}
