/* Devices under test with known faults, for the engine's own tests. */
#include "kernel.h"
#include "signature.h"
#include "skb.h"

const volatile __u32 out_ifindex;
const volatile __u32 device_netns;
const volatile __u32 drop_every;
const volatile __u32 copy_every;
const volatile __u32 copies; /* of such a frame, at most 16 */
const volatile __u32 stale_every;
const volatile __u32 corrupt_every;
const volatile __u32 truncate_every;
const volatile __u32 truncate_to;
const volatile __u32 permute;
const volatile __u32 swaps_per_10000;
const volatile __u32 readings; /* of the clock per frame, which make a device slow; at most 1000 */
const volatile __u32 late_every; /* such a frame comes late_by frames later */
const volatile __u32 late_by;
const volatile __u32 detour_every; /* such a frame goes to detour_ifindex */
const volatile __u32 detour_ifindex;
/* The VLAN of an interface, and the service VLAN that it is in; 0: none. */
const volatile __u16 vlan;
const volatile __u16 service_vlan;
/* For so long nothing passes, from some time after the first frame on and in every
 * period. */
const volatile __u64 stall_after_ns;
const volatile __u64 stall_ns;
const volatile __u64 stall_period_ns;

/* Added to atomically: frames are counted in one place, on whatever processor. */
struct faults {
	__u64 frames, dropped, refused, copied, staled, moved, corrupted, truncated, detoured;
	__u64 stalled_ns;    /* when the last stall began */
	__u64 next_stall_ns; /* after when the next frame begins one */
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

/* Says whether nothing passes now. */
static __always_inline int stalls(struct faults *f)
{
	__u64 now = bpf_ktime_get_ns();

	if (!stall_ns)
		return 0;
	if (!f->next_stall_ns)
		f->next_stall_ns = now + stall_after_ns;
	if (now >= f->next_stall_ns) {
		f->stalled_ns = now;
		f->next_stall_ns = now + stall_period_ns;
	}
	return now - f->stalled_ns < stall_ns;
}

/* Changes one byte behind the Ethernet header, one after the other. */
static __always_inline int corrupt(struct xdp_md *ctx, __u64 turn)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 length = ctx->data_end - ctx->data, at;

	if (length <= ETH_SIZE)
		return 0;
	at = ETH_SIZE + (__u32)turn % (length - ETH_SIZE);
	if (at > 9216 || data + at + 1 > end)
		return 0;
	*(__u8 *)(data + at) ^= 1 + turn % 255;
	return 1;
}

/* Forwards test frames to out_ifindex, except every drop_every-th and those of a
 * stall, and damages some. */
SEC("xdp")
int dropper(struct xdp_md *ctx)
{
	struct faults *f = counters();
	__u64 nth;

	if (!f || !test_frame((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return XDP_PASS;
	nth = ADD(f->frames);
	if ((drop_every && nth % drop_every == 0) || stalls(f)) {
		ADD(f->dropped);
		return XDP_DROP;
	}
	if (truncate_every && nth % truncate_every == 0) {
		int cut = (int)bpf_xdp_get_buff_len(ctx) - (int)truncate_to;

		if (cut > 0 && !bpf_xdp_adjust_tail(ctx, -cut))
			ADD(f->truncated);
	} else if (corrupt_every && nth % corrupt_every == 0) {
		if (corrupt(ctx, f->corrupted))
			ADD(f->corrupted);
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

/* Gives every late_every-th frame the place of the one late_by later, and those in
 * between the places before theirs. */
static __always_inline __u32 belated(__u32 n)
{
	__u32 at = n % late_every;

	if (at < late_by)
		return n + 1;
	return at == late_by ? n - late_by : n;
}

/* Changes places of two frames next to each other, so many times in every ten
 * thousand frames. */
static __always_inline __u32 swapped(__u32 n)
{
	if (n / 4 >= swaps_per_10000)
		return n;
	return n % 4 == 1 ? n + 1 : n % 4 == 2 ? n - 1 : n;
}

/* Changes a word that the UDP checksum covers (RFC 1624). */
static __always_inline void replace(__be16 *sum, __be16 *word, __u16 to)
{
	__u32 next = (__u16)~bpf_ntohs(*sum) + (__u16)~bpf_ntohs(*word) + to;

	next = (next >> 16) + (next & 0xffff);
	next = (next >> 16) + (next & 0xffff);
	*sum = bpf_htons(~next);
	*word = bpf_htons(to);
}

/* Forwards test frames to out_ifindex, some of them twice, some with the epoch
 * of another trial, some in each other's places. */
SEC("tc")
int disturb(struct __sk_buff *skb)
{
	__be16 *sig = test_frame((void *)(long)skb->data, (void *)(long)skb->data_end);
	struct faults *f = counters();
	__u32 low, n, to;
	__be16 *sum;
	__u64 nth;

	if (!f || !sig)
		return TC_ACT_OK;
	sum = sig - 1;
	nth = ADD(f->frames);
	for (int i = 0; i < 1000 && i < readings; i++)
		bpf_ktime_get_ns();
	low = (__u32)bpf_ntohs(sig[4]) << 16 | bpf_ntohs(sig[5]); /* of the sequence */
	n = low % 10000;
	to = permute ? n - n % 100 + place(n % 100) : late_every ? belated(n) : swapped(n);
	if (to != n) {
		low += to - n;
		replace(sum, &sig[4], low >> 16);
		replace(sum, &sig[5], low);
		if (to < n)
			ADD(f->moved);
	}
	if (stale_every && nth % stale_every == 0) {
		replace(sum, &sig[1], bpf_ntohs(sig[1]) - 1);
		ADD(f->staled);
	}
	if (copy_every && nth % copy_every == 0) {
		for (int i = 0; i < 16 && i < copies; i++) {
			ADD(f->copied);
			bpf_clone_redirect(skb, out_ifindex, 0);
		}
	}
	if (detour_every && nth % detour_every == 0) {
		ADD(f->detoured);
		return bpf_redirect(detour_ifindex, 0);
	}
	return bpf_redirect(out_ifindex, 0);
}

static __always_inline int take_tag(struct __sk_buff *skb, __u16 id)
{
	if (!skb->vlan_present || (skb->vlan_tci & 0xfff) != id)
		return 0;
	return !bpf_skb_vlan_pop(skb);
}

/* Makes an interface one of a VLAN, as a subinterface of a router is: what is not in the
 * VLAN does not reach it. */
SEC("tc")
int subinterface_in(struct __sk_buff *skb)
{
	if (service_vlan && (skb->vlan_proto != ETH_SERVICE || !take_tag(skb, service_vlan)))
		return TC_ACT_SHOT;
	if (skb->vlan_proto != ETH_VLAN || !take_tag(skb, vlan))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

/* And what it sends is. */
SEC("tc")
int subinterface_out(struct __sk_buff *skb)
{
	if (bpf_skb_vlan_push(skb, ETH_VLAN, vlan))
		return TC_ACT_SHOT;
	if (service_vlan && bpf_skb_vlan_push(skb, ETH_SERVICE, service_vlan))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
