package doctor

import "strings"

// kernelBPF checks for BPF: the XDP engine consists of BPF programs.
func kernelBPF(_ Facts, n Node, _ Engine) verdict {
	if !n.Probe.IsKnown() {
		return unknown(n.Probe.Unknown)
	}
	p := n.Probe.Value
	switch {
	case !p.BPF:
		return missing("no BPF (there is no /sys/fs/bpf)", "use a kernel with CONFIG_BPF_SYSCALL: those of distributions have it")
	case p.NoBTF:
		return missing("BPF without BTF (there is no /sys/kernel/btf/vmlinux)", "use a kernel with CONFIG_DEBUG_INFO_BTF: those of distributions have it")
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
		return missing("the kernel has no packet sockets", "use a kernel with CONFIG_PACKET: those of distributions have it")
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
