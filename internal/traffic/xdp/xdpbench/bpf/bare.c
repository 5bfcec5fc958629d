/* A bare loop of live frames, as the measure of what the kernel can do: run by
 * BPF_PROG_RUN it redirects frames and writes nothing, and at the other end it counts
 * them, one addition each. */
#include "../../bpf/kernel.h"

const volatile __u32 port_ifindex;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} received SEC(".maps");

SEC("xdp")
int bare(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *n;

	if (ctx->ingress_ifindex != port_ifindex)
		return bpf_redirect(port_ifindex, 0);
	n = bpf_map_lookup_elem(&received, &zero);
	if (n)
		++*n;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
