/* A bare loop of live frames, as the measure of what the kernel can do: run by
 * BPF_PROG_RUN it redirects frames, and at the other end it counts them, one addition
 * each. */
#include "../../bpf/kernel.h"

const volatile __u32 port_ifindex;
/* Every frame is cut by a byte and written, as long as the headers and the signature of
 * the smallest one are. */
const volatile _Bool writes;

#define WORDS 6
__u64 head[WORDS];
__u64 number;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} received SEC(".maps");

static __always_inline int send(struct xdp_md *ctx)
{
	__u64 *data;

	if (!writes)
		return bpf_redirect(port_ifindex, 0);
	if (bpf_xdp_adjust_tail(ctx, -1))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	if ((void *)(data + WORDS) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	for (int i = 0; i < WORDS; i++)
		data[i] = head[i] + number;
	number++;
	return bpf_redirect(port_ifindex, 0);
}

SEC("xdp")
int bare(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *n;

	if (ctx->ingress_ifindex != port_ifindex)
		return send(ctx);
	n = bpf_map_lookup_elem(&received, &zero);
	if (n)
		++*n;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
