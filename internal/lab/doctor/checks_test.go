package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

var waiting = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// recording is a cluster with a recorder in a state.
func recording(s recorder.State) func(*Facts) {
	return func(f *Facts) { f.Recorder = Known(&Recorder{Ready: true, State: &s}) }
}

var reason = Reason{Why: "you may not read it", Advice: "ask for the right"}

// checkCase is one answer of one check.
type checkCase struct {
	name   string
	check  string
	engine Engine
	change func(*Facts)
	level  Level
	// seen and advice are parts of the texts.
	seen, advice string
}

var checkCases = []checkCase{
	{"", "Kubernetes", Sim, nil, Good, "v1.36.3", ""},
	{"old", "Kubernetes", Sim, func(f *Facts) { f.Kubernetes = Known("v1.30.9+k3s1") }, Missing, "v1.30.9", "1.31 or later"},

	{"", "NoDrop's definitions", Sim, nil, Good, "testbeds", ""},
	{"one missing", "NoDrop's definitions", Sim, func(f *Facts) { f.Kinds.Value = f.Kinds.Value[:2] }, Missing, "does not serve benchmarks", "install the chart"},
	{"forbidden", "NoDrop's definitions", Sim, func(f *Facts) { f.Kinds = Seen[[]string]{Unknown: reason} }, Unknown, "you may not read it", "ask for the right"},

	{"", "operator", XDP, nil, Good, "1 of 1 pods are ready", ""},
	{"none", "operator", XDP, func(f *Facts) { f.Operator = Known[*Operator](nil) }, Missing, "no Deployment nodrop-operator in namespace nodrop-system", "--operator-namespace"},
	{"not ready", "operator", XDP, func(f *Facts) { f.Operator.Value.Ready = 0 }, Missing, "0 of 1 pods are ready", "describe pods"},
	{"forbidden", "operator", XDP, func(f *Facts) { f.Operator = Seen[*Operator]{Unknown: reason} }, Unknown, "you may not read it", ""},

	{"waiting", "recorder", XDP, recording(recorder.State{Rows: 3, Series: 70, Bytes: 1300, Limit: 1 << 20, Oldest: waiting}), Good,
		"3 rows and 70 samples and trials wait for the database, the first of 2026-11-23T12:00:00Z; 1300 of 1048576 bytes are used", ""},
	{"empty", "recorder", Sim, recording(recorder.State{Limit: 1 << 20, Dropped: 9}), Good, "nothing waits for the database; 0 of 1048576 bytes are used; 9 samples and trials had no room", ""},
	{"a database that is away", "recorder", XDP, recording(recorder.State{Rows: 3, Problem: "401: unauthorized", Since: waiting}), Warning,
		"takes none since 2026-11-23T12:00:00Z: 401: unauthorized", "recorder.tokenSecret"},
	{"refused points", "recorder", XDP, recording(recorder.State{Refused: 2}), Warning, "refused 2 points", "another type"},
	{"not ready", "recorder", XDP, func(f *Facts) { f.Recorder = Known(&Recorder{}) }, Warning, "not ready", "describe pods -n nodrop-system"},
	{"silent", "recorder", XDP, func(f *Facts) { f.Recorder = Known(&Recorder{Ready: true}) }, Warning, "says nothing", "log"},
	{"forbidden", "recorder", XDP, func(f *Facts) { f.Recorder = Seen[*Recorder]{Unknown: reason} }, Warning, "you may not read it", "ask for the right"},

	{"", "bed", XDP, bed(xdpEngine, hostDevice), Good, "benchmarks can lease the bed", ""},
	{"not ready", "bed", XDP, bed(xdpEngine, hostDevice, func(f *Facts) {
		f.Bed.Status.Conditions[0].Status, f.Bed.Status.Conditions[0].Message = metav1.ConditionFalse, "no ConfigMap"
	}), Missing, "no ConfigMap", "kubectl describe testbed switch"},
	{"changed since", "bed", XDP, bed(xdpEngine, hostDevice, func(f *Facts) { f.Bed.Generation = 3 }), Unknown, "not yet judged", "operator's log"},

	{"", "Multus", XDP, nil, Good, "are served", ""},
	{"none", "Multus", TRex, func(f *Facts) { f.Kinds.Value = f.Kinds.Value[:3] }, Missing, "does not serve network-attachment-definitions", "install Multus"},

	{"", "Multus on nodes", XDP, nil, Good, "kube-system/kube-multus-ds: 1 of 1 ready", ""},
	{"by hand", "Multus on nodes", XDP, func(f *Facts) { f.Multus = Known[[]DaemonSet](nil) }, Warning, "no DaemonSet has multus in its name", "CNI configuration"},
	{"not ready", "Multus on nodes", XDP, func(f *Facts) { f.Multus.Value[0].Desired = 3 }, Missing, "1 of 3 ready", "log of the Multus pods"},
	{"forbidden", "Multus on nodes", XDP, func(f *Facts) { f.Multus = Seen[[]DaemonSet]{Unknown: reason} }, Warning, "you may not read it", ""},

	{"", "networks", TRex, bed(trexEngine, sriovNamed, func(f *Facts) { f.Networks = Known([]Network{{"dut", "intel.com/sriov_p"}}) }), Good, "dut", ""},
	{"none", "networks", TRex, bed(trexEngine, sriovNamed), Missing, "no NetworkAttachmentDefinition dut", "in namespace nodrop-lab"},
	{"of another resource", "networks", TRex, bed(trexEngine, sriovNamed, func(f *Facts) { f.Networks = Known([]Network{{"dut", "intel.com/other"}}) }),
		Missing, `dut is for "intel.com/other", port p1 asks for intel.com/sriov_p`, "k8s.v1.cni.cncf.io/resourceName"},
	{"forbidden", "networks", TRex, bed(trexEngine, sriovNamed, func(f *Facts) { f.Networks = Seen[[]Network]{Unknown: reason} }), Unknown, "you may not read it", ""},

	{"", "claim templates", TRex, bed(trexEngine, claim, func(f *Facts) {
		f.ClaimTemplates, f.DeviceClasses = Known([]string{"dut-card"}), Known([]string{"cards"})
	}), Good, "dut-card", ""},
	{"none", "claim templates", TRex, bed(trexEngine, claim), Missing, "no ResourceClaimTemplate dut-card", "nodrop-lab"},
	{"no class", "claim templates", TRex, bed(trexEngine, claim, func(f *Facts) { f.ClaimTemplates = Known([]string{"dut-card"}) }), Missing, "no DeviceClass", "install a driver"},
	{"served in another version", "claim templates", TRex, bed(trexEngine, claim, func(f *Facts) { f.Kinds.Value[4] = "resource.k8s.io/v1beta2/resourceclaimtemplates" }), Missing, "does not serve resource.k8s.io", "1.34"},

	{"", "capabilities", XDP, nil, Good, "is admitted", ""},
	{"refused", "capabilities", TRex, func(f *Facts) { f.Admission[TRex] = Known("violates PodSecurity") }, Missing, "violates PodSecurity", "enforce=privileged"},
	{"no namespace", "capabilities", XDP, func(f *Facts) { f.Admission[XDP] = Known(NoLab) }, Missing, "there is no namespace nodrop-lab", "--lab-namespace"},
	{"forbidden", "capabilities", Containerlab, func(f *Facts) { f.Admission[Containerlab] = Seen[string]{Unknown: reason} }, Unknown, "you may not read it", ""},

	{"", "TRex image", TRexSoftware, nil, Good, "example.test/trex:v3.08", ""},
	{"none", "TRex image", TRexSoftware, func(f *Facts) { f.Operator.Value.TRexImage = "" }, Missing, "neither the operator nor a bed", "Dockerfile.trex"},
	{"of the bed", "TRex image", TRex, bed(v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Image: "mine:1"}}, sriov, func(f *Facts) { f.Operator.Value.TRexImage = "" }), Good, "mine:1, of the bed", ""},

	{"none", "nodes", XDP, func(f *Facts) { f.Nodes = nil }, Missing, "there is no node", "join"},

	{"", "node", XDP, nil, Good, "ready, kubelet v1.36.3", ""},
	{"absent", "node", TRex, node(func(n *Node) { *n = Node{Name: "node1", Absent: true} }), Missing, "no node of this name", "correct the ports"},
	{"not ready", "node", TRex, node(func(n *Node) { n.NotReady = "NodeStatusUnknown: stopped posting" }), Missing, "stopped posting", "kubectl describe node node1"},
	{"cordoned", "node", XDP, node(func(n *Node) { n.Unschedulable = true }), Missing, "cordoned", "kubectl uncordon node1"},

	{"hard", "taints", XDP, node(func(n *Node) {
		n.Taints = []corev1.Taint{{Key: "nodrop.dev/lab", Effect: corev1.TaintEffectNoSchedule}, {Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}), Missing, "node-role.kubernetes.io/control-plane:NoSchedule", "nodrop.dev/lab"},

	{"", "architecture", TRex, nil, Good, "amd64", ""},
	{"arm", "architecture", TRex, node(func(n *Node) { n.Info.Architecture = "arm64" }), Missing, "arm64", "TRex runs on amd64"},
	{"arm, xdp", "architecture", XDP, node(func(n *Node) { n.Info.Architecture = "arm64" }), Good, "arm64", ""},
	{"big-endian", "architecture", XDP, node(func(n *Node) { n.Info.Architecture = "s390x" }), Missing, "s390x", "amd64 or arm64"},

	{"", "kernel release", XDP, nil, Good, "Linux 6.12.41+deb13-amd64", ""},
	{"old", "kernel release", XDP, node(func(n *Node) { n.Info.KernelVersion = "5.15.0-113-generic" }), Missing, "5.15.0", "5.18 or later"},
	{"just new enough", "kernel release", XDP, node(func(n *Node) { n.Info.KernelVersion = "5.18.0-1.el9" }), Good, "5.18.0", ""},
	{"odd", "kernel release", XDP, node(func(n *Node) { n.Info.KernelVersion = "next" }), Unknown, `"next"`, "5.18"},

	{"", "kernel features", XDP, nil, Good, "BPF", ""},
	{"no BPF", "kernel features", XDP, probed(func(p *probe.Node) { p.BPF = false }), Missing, "no BPF", "CONFIG_BPF_SYSCALL"},
	{"no BTF", "kernel features", XDP, probed(func(p *probe.Node) { p.NoBTF = true }), Missing, "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"},
	{"interpreted", "kernel features", XDP, probed(func(p *probe.Node) { p.Config = map[string]string{"CONFIG_BPF_SYSCALL": "y"} }), Warning, "without its compiler", "CONFIG_BPF_JIT"},
	{"not probed", "kernel features", XDP, node(func(n *Node) { n.Probe = Seen[probe.Node]{Unknown: reason} }), Unknown, "you may not read it", ""},

	{"", "packet sockets", TRexSoftware, nil, Good, "has them", ""},
	{"none", "packet sockets", TRexSoftware, probed(func(p *probe.Node) { p.PacketSockets = false }), Missing, "no packet sockets", "CONFIG_PACKET"},

	{"seen", "Docker", Containerlab, nil, Good, "benchmark team-routing/router", ""},
	{"as the runtime", "Docker", Containerlab, func(f *Facts) {
		f.Started.Value = nil
		f.Nodes[0].Info.ContainerRuntimeVersion = "docker://29.0.1"
	}, Good, "docker://29.0.1", ""},
	{"not seen", "Docker", Containerlab, func(f *Facts) { f.Started.Value = nil }, Unknown, "no virtual device was seen", "/run/docker.sock"},

	{"", "processors", TRex, nil, Good, "16 allocatable, 4.9 for the traffic pod", ""},
	{"few", "processors", TRex, node(func(n *Node) { n.Allocatable[corev1.ResourceCPU] = resource.MustParse("4") }), Missing, "4 allocatable, 4.9 for the traffic pod", "engine.trex.cpus: 4 are for it alone"},
	{"enough for software", "processors", TRexSoftware, node(func(n *Node) { n.Allocatable[corev1.ResourceCPU] = resource.MustParse("2") }), Good, "2 allocatable, 0.6 for the traffic pod", ""},
	{"few for software", "processors", TRexSoftware, node(func(n *Node) { n.Allocatable[corev1.ResourceCPU] = resource.MustParse("500m") }), Missing, "0.5 allocatable, 0.6 for the traffic pod", "use a larger node"},

	{"of the bed", "processors", XDP, bed(ownEngine, hostDevice), Good, "16 allocatable, 2 for the traffic pod", ""},
	{"few for the bed", "processors", XDP, bed(ownEngine, hostDevice, node(func(n *Node) { n.Allocatable[corev1.ResourceCPU] = resource.MustParse("1500m") })), Missing, "1.5 allocatable, 2 for the traffic pod", "engine.xdp.cpus: 2 are for it alone"},

	{"", "processor features", TRex, nil, Good, "sse4_2", ""},
	{"old", "processor features", TRex, probed(func(p *probe.Node) { p.CPUFlags = nil }), Missing, "no sse4_2", "SSE4.2"},
	{"clock that stops", "processor features", TRex, probed(func(p *probe.Node) { p.CPUFlags = p.CPUFlags[:2] }), Warning, "no nonstop_tsc", "latency"},

	{"", "memory", TRex, nil, Good, "64Gi allocatable, 2Gi for TRex", ""},
	{"little", "memory", TRex, node(func(n *Node) { n.Allocatable[corev1.ResourceMemory] = resource.MustParse("1Gi") }), Missing, "1Gi allocatable", "engine.trex.memory"},

	{"", "huge pages", TRex, nil, Good, "hugepages-1Gi: 8Gi allocatable", ""},
	{"none", "huge pages", TRex, node(func(n *Node) { delete(n.Allocatable, "hugepages-1Gi"); n.Probe.Value.HugePages = nil }), Missing, "none allocatable", "hugepagesz=1G hugepages=4"},
	{"kubelet has not seen them", "huge pages", TRex, node(func(n *Node) { delete(n.Allocatable, "hugepages-1Gi") }), Missing, "none allocatable", "restart the kubelet"},
	{"of the bed", "huge pages", TRex, bed(trexEngine, sriov), Good, "hugepages-1Gi: 8Gi allocatable, 4Gi for TRex", ""},
	{"fewer than the bed's", "huge pages", TRex, bed(trexEngine, sriov, node(func(n *Node) {
		n.Allocatable["hugepages-1Gi"] = resource.MustParse("2Gi")
		n.Probe.Value.HugePages = nil
	})), Missing, "2Gi allocatable, 4Gi for TRex", "hugepages=4"},

	{"", "CPU manager policy", TRex, nil, Good, "static", ""},
	{"none", "CPU manager policy", TRex, node(func(n *Node) { n.Kubelet.Value.CPUManagerPolicy = "none" }), Missing, "none", "cpuManagerPolicy: static"},
	{"not reported", "CPU manager policy", TRex, node(func(n *Node) { n.Kubelet.Value.CPUManagerPolicy = "" }), Missing, "none", ""},
	{"of the bed", "CPU manager policy", XDP, bed(ownEngine, hostDevice), Good, "static", ""},
	{"none for the bed", "CPU manager policy", XDP, bed(ownEngine, hostDevice, node(func(n *Node) { n.Kubelet.Value.CPUManagerPolicy = "none" })), Missing, "none", "so that the traffic pod has"},
	{"forbidden", "CPU manager policy", TRex, node(func(n *Node) { n.Kubelet = Seen[Kubelet]{Unknown: reason} }), Unknown, "you may not read it", ""},

	{"", "topology manager", TRex, nil, Good, "single-numa-node", ""},
	{"none", "topology manager", TRex, node(func(n *Node) { n.Kubelet.Value.TopologyManagerPolicy = "none" }), Warning, "none", "single-numa-node"},
	{"one NUMA node", "topology manager", TRex, node(func(n *Node) { n.Kubelet.Value.TopologyManagerPolicy = "none"; n.Probe.Value.NUMANodes = 1 }), Good, "one NUMA node", ""},

	{"by name", "device plugin", TRex, nil, Good, "intel.com/sriov_p: 4", ""},
	{"none", "device plugin", TRex, node(func(n *Node) { delete(n.Allocatable, "intel.com/sriov_p") }), Missing, "no resource that looks like network cards", "SR-IOV network device plugin"},
	{"none left", "device plugin", TRex, node(func(n *Node) { n.Allocatable["intel.com/sriov_p"] = resource.MustParse("0") }), Missing, "no resource", ""},
	{"other devices", "device plugin", TRex, node(func(n *Node) {
		delete(n.Allocatable, "intel.com/sriov_p")
		n.Allocatable["nvidia.com/gpu"] = resource.MustParse("8")
	}), Missing, "no resource", ""},
	{"a network says so", "device plugin", TRex, func(f *Facts) {
		delete(f.Nodes[0].Allocatable, "intel.com/sriov_p")
		f.Nodes[0].Allocatable["example.test/dut"] = resource.MustParse("2")
		f.PoolResources = []string{"example.test/dut"}
	}, Good, "example.test/dut: 2", ""},
	{"dynamic allocation", "device plugin", TRex, node(func(n *Node) {
		delete(n.Allocatable, "intel.com/sriov_p")
		n.Drivers = Known([]string{"cards.example.test"})
	}), Good, "devices of cards.example.test", ""},
	{"of the bed", "device plugin", XDP, bed(xdpEngine, sriov), Good, "intel.com/sriov_p: 4 allocatable, 2 for the bed", ""},
	{"fewer than the bed's", "device plugin", XDP, bed(xdpEngine, sriov, node(func(n *Node) { n.Allocatable["intel.com/sriov_p"] = resource.MustParse("1") })),
		Missing, "1 allocatable, 2 for the bed", "correct resourceName"},

	{"", "resource claims", TRex, bed(trexEngine, claim, node(func(n *Node) { n.Drivers = Known([]string{"cards.example.test"}) })), Good, "cards.example.test", ""},
	{"none", "resource claims", TRex, bed(trexEngine, claim), Missing, "no driver offers devices here", "install a driver"},
	{"forbidden", "resource claims", TRex, bed(trexEngine, claim, node(func(n *Node) { n.Drivers = Seen[[]string]{Unknown: reason} })), Unknown, "you may not read it", ""},

	{"", "virtual functions", XDP, bed(xdpEngine, sriov, probed(func(p *probe.Node) {
		p.Cards = append(p.Cards, probe.Card{Address: "0000:3b:01.0", Driver: "iavf", VirtualFunction: true})
	})), Good, "1 on PCI", ""},
	{"none", "virtual functions", XDP, bed(xdpEngine, sriov, node(func(n *Node) { delete(n.Allocatable, "intel.com/sriov_p") })),
		Missing, "no card has any: 0000:3b:00.0 (ice, up to 64)", "echo 1 > /sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs"},

	{"", "interfaces in pods", XDP, bed(xdpEngine, sriov, attached(Known(""))), Good, "a pod had the interfaces", ""},
	{"no CNI plugin", "interfaces in pods", XDP, bed(xdpEngine, sriov, attached(Known(`failed to find plugin "sriov" in path [/opt/cni/bin]`))),
		Missing, `failed to find plugin "sriov"`, "install the CNI plugin"},
	{"no Multus", "interfaces in pods", XDP, bed(xdpEngine, sriov, attached(Known("Multus did not handle the pod: ports p1 have no interface"))),
		Missing, "ports p1", "/etc/cni/net.d"},
	{"another problem", "interfaces in pods", XDP, bed(xdpEngine, sriov, attached(Known("no such device"))), Missing, "no such device", "log of Multus"},
	{"leased", "interfaces in pods", XDP, bed(xdpEngine, sriov, attached(Seen[string]{Unknown: reason})), Unknown, "you may not read it", ""},

	{"", "network cards", TRex, nil, Good, "0000:3b:00.0 (ice, up to 64 functions)", ""},
	{"virtual ones", "network cards", TRex, probed(func(p *probe.Node) { p.Cards[0].VirtualFunctions = 0 }), Warning, "1 on PCI, none with SR-IOV", "whole cards"},

	{"", "IOMMU", TRex, nil, Good, "83 groups", ""},
	{"off", "IOMMU", TRex, probed(func(p *probe.Node) { p.IOMMUGroups = 0 }), Missing, "no IOMMU groups", "intel_iommu=on"},
	{"off in the firmware", "IOMMU", TRex, probed(func(p *probe.Node) { p.IOMMUGroups = 0; p.CommandLine = []string{"intel_iommu=on"} }), Missing, "was booted with intel_iommu=on", "firmware"},
	{"ConnectX", "IOMMU", TRex, probed(func(p *probe.Node) { p.IOMMUGroups = 0; p.Cards[0].Vendor = probe.VendorMellanox }), Warning, "ConnectX", ""},
	{"not probed", "IOMMU", TRex, node(func(n *Node) { n.Probe = Seen[probe.Node]{Unknown: reason} }), Unknown, "you may not read it", ""},

	{"", "VFIO", TRex, nil, Good, "vfio-pci is there", ""},
	{"not loaded", "VFIO", TRex, probed(func(p *probe.Node) { p.VFIO = false }), Missing, "not loaded", "modules-load.d"},
	{"not in the kernel", "VFIO", TRex, probed(func(p *probe.Node) { p.VFIO = false; p.Config = map[string]string{"CONFIG_PACKET": "y"} }), Missing, "CONFIG_VFIO_PCI is not set", "use a kernel with CONFIG_VFIO_PCI"},
	{"ConnectX", "VFIO", TRex, probed(func(p *probe.Node) { p.VFIO = false; p.Cards[0].Vendor = probe.VendorMellanox }), Good, "do without", ""},
}

func TestChecks(t *testing.T) {
	for _, tc := range checkCases {
		t.Run(tc.check+"/"+string(tc.engine)+"/"+tc.name, func(t *testing.T) {
			f := whole()
			if tc.change != nil {
				tc.change(&f)
			}
			var found []Finding
			for _, finding := range Judge(f, []Engine{tc.engine}, true).Findings {
				if finding.Check == tc.check {
					found = append(found, finding)
				}
			}
			if len(found) != 1 {
				t.Fatalf("%d findings, want 1: %v", len(found), found)
			}
			got := found[0]
			if got.Level != tc.level || !strings.Contains(got.Seen, tc.seen) || !strings.Contains(got.Advice, tc.advice) {
				t.Errorf("%+v\nwant %s, seen with %q, advice with %q", got, tc.level, tc.seen, tc.advice)
			}
			if (got.Level == Good) != (got.Advice == "") || got.Seen == "" {
				t.Errorf("%+v: what is good needs no advice, all else does", got)
			}
		})
	}
}

// Every check is shown good and not, but those that are silent when all is well.
func TestEveryCheckHasBothCases(t *testing.T) {
	silent := []string{"taints", "nodes"}
	var names []string
	for _, c := range clusterChecks {
		names = append(names, c.name)
	}
	for _, c := range nodeChecks {
		names = append(names, c.name)
	}
	for _, name := range names {
		has := func(good bool) bool {
			return slices.ContainsFunc(checkCases, func(tc checkCase) bool { return tc.check == name && (tc.level == Good) == good })
		}
		if !has(false) || (!has(true) && !slices.Contains(silent, name)) {
			t.Errorf("check %q lacks a case", name)
		}
	}
}

func TestChecksThatDoNotMatter(t *testing.T) {
	for name, tc := range map[string]struct {
		engine Engine
		change func(*Facts)
		check  string
	}{
		"a bed without claims":        {TRex, bed(trexEngine, sriov), "resource claims"},
		"a bed that names no network": {TRex, bed(trexEngine, sriov), "networks"},
		"Multus, for claims alone":    {TRex, bed(trexEngine, claim), "Multus"},
		"a device plugin, for xdp":    {XDP, nil, "device plugin"},
		"huge pages, for xdp":         {XDP, nil, "huge pages"},
		"processors that are shared":  {XDP, bed(xdpEngine, hostDevice), "processors"},
		"whole ones that none wants":  {XDP, bed(xdpEngine, hostDevice), "CPU manager policy"},
		"no bed":                      {XDP, nil, "bed"},
		"functions, for whole cards":  {XDP, bed(xdpEngine, sriov), "virtual functions"},
		"interfaces without a probe":  {XDP, bed(xdpEngine, sriov), "interfaces in pods"},
		"a soft taint": {XDP, node(func(n *Node) {
			n.Taints = []corev1.Taint{{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}}
		}), "taints"},
		"everything else of a node that is not there": {TRex, node(func(n *Node) { *n = Node{Name: "node1", Absent: true} }), "huge pages"},
	} {
		t.Run(name, func(t *testing.T) {
			f := whole()
			if tc.change != nil {
				tc.change(&f)
			}
			for _, finding := range Judge(f, []Engine{tc.engine}, true).Findings {
				if finding.Check == tc.check {
					t.Errorf("%+v", finding)
				}
			}
		})
	}
}
