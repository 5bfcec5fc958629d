/* Devices under test with known faults, for the engine's own tests. */
#include "kernel.h"
#include "signature.h"

struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto;
	__u32 priority, ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid;
	__u32 data, data_end;
};

enum { TC_ACT_SHOT = 2, TC_ACT_OK = 0 };

const volatile __u32 out_ifindex;
const volatile __u32 device_netns;
const volatile __u32 drop_every;
const volatile __u32 copy_every;
const volatile __u32 stale_every;
const volatile __u32 permute;
const volatile __u32 swaps_per_10000;

/* Added to atomically: frames are counted in one place, on whatever processor. */
struct faults {
	__u64 frames, dropped, refused, copied, staled, moved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct faults);
} counts SEC(".maps");

#define ADD(counter) (__sync_fetch_and_add(&(counter), 1) + 1)

static __always_inline struct faults *counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline __be16 *test_frame(void *data, void *end)
{
	__be16 *sig = data + IPV4_SIGNATURE;

	if ((void *)sig + SIGNATURE_SIZE > end || *sig != bpf_htons(MAGIC))
		return 0;
	return sig;
}

/* Forwards test frames to out_ifindex, except every drop_every-th. */
SEC("xdp")
int dropper(struct xdp_md *ctx)
{
	struct faults *f = counters();
	__u64 nth;

	if (!f || !test_frame((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return XDP_PASS;
	nth = ADD(f->frames);
	if (drop_every && nth % drop_every == 0) {
		ADD(f->dropped);
		return XDP_DROP;
	}
	return bpf_redirect(out_ifindex, 0);
}

/* Counts what the dropper could not hand over, because the ring behind it was
 * full: on a busy machine its processor may run before that of the receiver. */
SEC("tp_btf/xdp_devmap_xmit")
int dropper_refused(__u64 *args)
{
	struct net_device *to = (void *)args[1];
	struct faults *f = counters();

	if (f && to->ifindex == out_ifindex && to->nd_net.net->ns.inum == device_netns)
		__sync_fetch_and_add(&f->refused, (int)args[3]);
	return 0;
}

/* Gives frames the places of others: of every hundred, 10 and 11 change places,
 * and 25 comes before 20 to 24. One and five frames are then reordered. */
static __always_inline __u32 place(__u32 n)
{
	if (n == 10 || n == 11)
		return 21 - n;
	if (n == 20)
		return 25;
	if (n > 20 && n <= 25)
		return n - 1;
	return n;
}

/* Changes places of two frames next to each other, so many times in every ten
 * thousand frames. */
static __always_inline __u32 swapped(__u32 n)
{
	if (n / 4 >= swaps_per_10000)
		return n;
	return n % 4 == 1 ? n + 1 : n % 4 == 2 ? n - 1 : n;
}

/* Forwards test frames to out_ifindex, some of them twice, some with the epoch
 * of another trial, some in each other's places. */
SEC("tc")
int disturb(struct __sk_buff *skb)
{
	__be16 *sig = test_frame((void *)(long)skb->data, (void *)(long)skb->data_end);
	struct faults *f = counters();
	__u32 low, n, to;
	__u64 nth;

	if (!f || !sig)
		return TC_ACT_OK;
	nth = ADD(f->frames);
	low = (__u32)bpf_ntohs(sig[4]) << 16 | bpf_ntohs(sig[5]); /* of the sequence */
	n = low % 10000;
	to = permute ? n - n % 100 + place(n % 100) : swapped(n);
	if (to != n) {
		low += to - n;
		sig[4] = bpf_htons(low >> 16);
		sig[5] = bpf_htons(low);
		if (to < n)
			ADD(f->moved);
	}
	if (stale_every && nth % stale_every == 0) {
		sig[1] = bpf_htons(bpf_ntohs(sig[1]) - 1);
		ADD(f->staled);
	}
	if (copy_every && nth % copy_every == 0) {
		ADD(f->copied);
		bpf_clone_redirect(skb, out_ifindex, 0);
	}
	return bpf_redirect(out_ifindex, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
