package doctor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
)

func nodeReady(_ Facts, n Node, _ Engine) verdict {
	switch {
	case n.Absent:
		return missing("the cluster has no node of this name", "see kubectl get nodes, and correct the ports of the bed")
	case n.NotReady != "":
		return missing(n.NotReady, "see kubectl describe node "+n.Name)
	case n.Unschedulable:
		return missing("ready, and cordoned", "kubectl uncordon "+n.Name)
	}
	return good("ready, kubelet " + n.Info.KubeletVersion)
}

// taintOfLab is the one that the lab's pods tolerate.
const taintOfLab = "nodrop.dev/lab"

func taints(_ Facts, n Node, _ Engine) verdict {
	var hard []string
	for _, t := range n.Taints {
		// Taints of the cluster itself are reported by the check of the node.
		if t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != taintOfLab && !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			hard = append(hard, t.ToString())
		}
	}
	if len(hard) == 0 {
		return verdict{}
	}
	return missing(strings.Join(hard, ", "), "remove the taint, or use "+taintOfLab+" to keep other work away: only that one is tolerated by the lab's pods")
}

// architecture checks the processor: TRex exists for x86 only, and the XDP programs are
// compiled for little-endian processors.
func architecture(_ Facts, n Node, e Engine) verdict {
	arch := n.Info.Architecture
	switch {
	case e != XDP && arch != "amd64":
		return missing(arch, "TRex runs on amd64: use another node")
	case e == XDP && arch != "amd64" && arch != "arm64":
		return missing(arch, "use a node with amd64 or arm64")
	}
	return good(arch)
}

// oldestXDP is the first release that sends live frames through XDP (BPF_F_TEST_XDP_LIVE_FRAMES).
var oldestXDP = version.MustParseGeneric("5.18")

func kernelRelease(_ Facts, n Node, _ Engine) verdict {
	release := n.Info.KernelVersion
	v, err := version.ParseGeneric(release)
	switch {
	case err != nil:
		return unknown(Reason{Why: fmt.Sprintf("kernel release %q", release), Advice: "check that it is Linux 5.18 or later"})
	case v.LessThan(oldestXDP):
		return missing("Linux "+release, "update to Linux 5.18 or later, which sends live frames through XDP; tested from 6.1 on")
	}
	return good("Linux " + release)
}

func docker(f Facts, n Node, _ Engine) verdict {
	const advice = "check that Docker runs there with its socket at /run/docker.sock; the first benchmark of a virtual device on this node shows it"
	started, yes := f.Started.Value[n.Name]
	switch {
	case yes:
		return good("a device was up for benchmark " + started)
	case strings.HasPrefix(n.Info.ContainerRuntimeVersion, "docker://"):
		return good(n.Info.ContainerRuntimeVersion)
	case !f.Started.IsKnown():
		return unknown(f.Started.Unknown)
	}
	return unknown(Reason{Why: "no virtual device was seen on this node yet, and its Docker cannot be seen from a pod", Advice: advice})
}

// processors checks for those of TRex and a part of one for the agent in the same pod;
// in software mode both share a part of one.
func processors(f Facts, n Node, e Engine) verdict {
	need, has := needs(f, n, e)[corev1.ResourceCPU], n.Allocatable.Cpu()
	if need.IsZero() {
		return verdict{} // the pod shares those of the node
	}
	seen := fmt.Sprintf("%g allocatable, %g for the traffic pod", has.AsApproximateFloat64(), need.AsApproximateFloat64())
	if has.Cmp(need) < 0 {
		advice := "use a larger node"
		if own := need.MilliValue() / 1000; own > 0 {
			advice += fmt.Sprintf(", or lower engine.%s.cpus: %d are for it alone", kindOf(e), own)
		}
		return missing(seen, advice)
	}
	return good(seen)
}

func memory(f Facts, n Node, e Engine) verdict {
	need, has := settingsOf(f.Bed, e).MemoryBytes(), n.Allocatable.Memory()
	if has.Cmp(need) < 0 {
		return missing(sizeOf(*has)+" allocatable", fmt.Sprintf("a TRex server here has %s of memory: use a larger node, or lower engine.trex.memory", &need))
	}
	return good(fmt.Sprintf("%s allocatable, %s for TRex", sizeOf(*has), &need))
}

// sizeOf is a node's memory for people, in tenths of a GiB, rounded down.
func sizeOf(q resource.Quantity) string {
	tenths := q.Value() * 10 >> 30
	return fmt.Sprintf("%gGi", float64(tenths)/10)
}

// notConfigured is the kubelet's name for the absence of a policy.
const notConfigured = "none"

// cpuManager checks that the kubelet gives whole processors to the pods that ask for them.
func cpuManager(f Facts, n Node, e Engine) verdict {
	if need := needs(f, n, e)[corev1.ResourceCPU]; need.IsZero() {
		return verdict{}
	}
	if !n.Kubelet.IsKnown() {
		return unknown(n.Kubelet.Unknown)
	}
	policy := n.Kubelet.Value.CPUManagerPolicy
	if policy != "static" {
		return missing(orNone(policy), "set cpuManagerPolicy: static and reservedSystemCPUs in the kubelet's configuration, so that the traffic pod has its processors for itself")
	}
	return good(policy)
}

func topologyManager(_ Facts, n Node, _ Engine) verdict {
	if !n.Kubelet.IsKnown() {
		return unknown(n.Kubelet.Unknown)
	}
	policy := orNone(n.Kubelet.Value.TopologyManagerPolicy)
	switch {
	case policy != notConfigured:
		return good(policy)
	case n.Probe.IsKnown() && n.Probe.Value.NUMANodes == 1:
		return good(policy + ", and the node has one NUMA node")
	}
	return warning(policy, "set topologyManagerPolicy: single-numa-node in the kubelet's configuration, so that card, memory and processors are of one socket")
}

func orNone(policy string) string {
	if policy == "" {
		return notConfigured
	}
	return policy
}

// kernelBPF checks for BPF: the XDP engine consists of BPF programs.
func kernelBPF(_ Facts, n Node, _ Engine) verdict {
	if !n.Probe.IsKnown() {
		return unknown(n.Probe.Unknown)
	}
	p := n.Probe.Value
	switch {
	case !p.BPF:
		return missing("no BPF (there is no /sys/fs/bpf)", "use a kernel with CONFIG_BPF_SYSCALL: kernels of distributions have it")
	case p.NoBTF:
		return missing("BPF without BTF (there is no /sys/kernel/btf/vmlinux)", "use a kernel with CONFIG_DEBUG_INFO_BTF: kernels of distributions have it")
	case p.Config != nil && p.Config["CONFIG_BPF_JIT"] == "":
		return warning("BPF without its compiler", "use a kernel with CONFIG_BPF_JIT: programs run several times as fast")
	case p.Config == nil:
		return good("BPF; the kernel does not show its configuration")
	}
	return good("BPF and its compiler")
}

func packetSockets(_ Facts, n Node, _ Engine) verdict {
	switch {
	case !n.Probe.IsKnown():
		return unknown(n.Probe.Unknown)
	case !n.Probe.Value.PacketSockets:
		return missing("the kernel has no packet sockets", "use a kernel with CONFIG_PACKET: kernels of distributions have it")
	}
	return good("the kernel has them")
}

// processorFeatures checks for SSE4.2, which DPDK needs on x86, and for a stable time
// stamp counter, which is TRex's clock.
func processorFeatures(_ Facts, n Node, _ Engine) verdict {
	if !n.Probe.IsKnown() {
		return unknown(n.Probe.Unknown)
	}
	var lacking []string
	for _, flag := range []string{"constant_tsc", "nonstop_tsc"} {
		if !n.Probe.Value.HasFlag(flag) {
			lacking = append(lacking, flag)
		}
	}
	switch {
	case !n.Probe.Value.HasFlag("sse4_2"):
		return missing("no sse4_2", "use a node whose processor has SSE4.2; in a virtual machine, use the host's processor model")
	case len(lacking) > 0:
		return warning("no "+strings.Join(lacking, ", "), "this counter is TRex's clock: do not trust its latency, or use another node")
	}
	return good(strings.Join(n.Probe.Value.CPUFlags, ", "))
}

// pageSizes are the sizes that TRexHugePages can name.
var pageSizes = []string{"1Gi", "2Mi"}

func resourceOf(pageSize string) corev1.ResourceName {
	return corev1.ResourceName(corev1.ResourceHugePagesPrefix + pageSize)
}

// hugePages checks for as many as the bed needs, or for some of any size.
func hugePages(f Facts, n Node, e Engine) verdict {
	wanted := needs(f, n, e)
	names := of(wanted, isHugePages)
	if len(names) == 0 {
		return anyHugePages(n)
	}
	// The definition of a bed has one size of pages.
	name := names[0]
	has, want := n.Allocatable[name], wanted[name]
	seen := fmt.Sprintf("%s: %s allocatable, %s for TRex", name, &has, &want)
	if has.Cmp(want) < 0 {
		return missing(seen, hugePagesAdvice(n, strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix), want))
	}
	return good(seen)
}

func anyHugePages(n Node) verdict {
	var seen []string
	for _, size := range pageSizes {
		if has := n.Allocatable[resourceOf(size)]; !has.IsZero() {
			seen = append(seen, fmt.Sprintf("%s: %s allocatable", resourceOf(size), &has))
		}
	}
	if len(seen) > 0 {
		return good(strings.Join(seen, ", "))
	}
	return missing("none allocatable", hugePagesAdvice(n, pageSizes[0], resource.MustParse("4Gi")))
}

// hugePagesAdvice distinguishes pages that the kubelet has not counted yet from pages
// that were never allocated.
func hugePagesAdvice(n Node, size string, total resource.Quantity) string {
	page := resource.MustParse(size)
	for _, p := range n.Probe.Value.HugePages {
		if p.SizeBytes == page.Value() && p.Total*p.SizeBytes >= total.Value() {
			return fmt.Sprintf("the kernel has %d pages of %s: restart the kubelet, which counts them when it starts", p.Total, size)
		}
	}
	pages := (total.Value() + page.Value() - 1) / page.Value()
	// The kernel's parameters have 1G and 2M where Kubernetes has 1Gi and 2Mi.
	kernelSize := strings.TrimSuffix(size, "i")
	return fmt.Sprintf("boot the node with hugepagesz=%s hugepages=%d, which is %s", kernelSize, pages, &total)
}
