/* Congestion notification packets (CNP) of RoCEv2 (InfiniBand Architecture Specification volume 1,
 * annex A17.9.3): a receiver of a frame with the mark CE answers with one to the sender's queue
 * pair, and not again for an interval. The answer is written into the frame, and leaves by the
 * port at which the frame arrived. */
#pragma once
#include "kernel.h"
#include "icrc.h"
#include "rxframe.h"

#define OPCODE_CNP 0x81
#define CNP_RESERVED 16 /* bytes of zeros behind the Base Transport Header */
#define ICRC_SIZE 4
#define CNP_SIZE (UDP_SIZE + BTH_SIZE + CNP_RESERVED + ICRC_SIZE) /* with UDP */
#define BECN 0x40 /* backward explicit congestion notification */
#define CNP_TTL 64
#define IPV4_DONT_FRAGMENT bpf_htons(0x4000)

/* The answers to the frames of a stream. User space writes and clears it. */
struct rx_notify {
	__u64 interval; /* the shortest time between two answers, in ns */
	__u64 last;	/* when the last was sent; 0: none yet */
	__u64 sent;
	__be32 queue_pair;
	__be16 partition_key;
	__u8 traffic_class;
	__u8 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_notify);
} rx_notifies SEC(".maps");

/* What the local route header, of ones, makes of the register of the ICRC behind an answer over IPv4 and
 * IPv6. User space writes them. */
const volatile __u32 cnp_icrc4, cnp_icrc6;

/* Says whether a frame is to be answered now. Of several processors one answers. */
static __always_inline int is_due(struct rx_notify *n)
{
	__u64 now = bpf_ktime_get_ns(), last = n->last;

	if (last && now - last < n->interval)
		return 0;
	return __sync_val_compare_and_swap(&n->last, last, now) == last;
}

/* Writes UDP, the Base Transport Header and zeros, and ones where the ICRC has ones. */
static __always_inline void write_cnp(void *data, struct rx_notify *n)
{
	AT(__be16, 2) = PORT_ROCE;
	AT(__be16, 4) = bpf_htons(CNP_SIZE);
	AT(__be16, 6) = 0xffff;
	data += UDP_SIZE;
	AT(__be16, 0) = bpf_htons(OPCODE_CNP << 8);
	AT(__be16, 2) = n->partition_key;
	AT(__be32, 4) = n->queue_pair | bpf_htonl(0xff000000);
	AT(__u32, 8) = 0; /* PSN */
	AT(__u32, 12) = 0;
	AT(__u32, 16) = 0;
	AT(__u32, 20) = 0;
	AT(__u32, 24) = 0;
}

/* Writes the ICRC and what it does not cover, and the checksum of UDP. The sum is of the
 * addresses. */
static __always_inline void finish_cnp(void *data, __u32 icrc, struct rx_notify *n, __u64 sum)
{
	__u16 check;

	AT(__be32, UDP_SIZE + 4) = n->queue_pair | bpf_htonl(BECN << 24);
	AT(__u32, UDP_SIZE + BTH_SIZE + CNP_RESERVED) = icrc;
	AT(__be16, 6) = 0;
	sum += bpf_htons(PROTO_UDP) + bpf_htons(CNP_SIZE);
#pragma unroll
	for (int i = 0; i < CNP_SIZE; i += 4)
		sum += AT(__u32, i);
	check = ~folded(sum);
	AT(__be16, 6) = check ? check : 0xffff;
}

/* Makes the answer over IPv4, and returns its length from the network layer on; 0 where the frame
 * cannot hold it. */
static __always_inline __u32 answer_ipv4(struct xdp_md *ctx, void *data, void *end, __u32 net, struct rx_notify *n)
{
	__u32 source, icrc;

	if (data + IPV4_SIZE + CNP_SIZE > end)
		return 0;
	source = AT(__u32, 12);
	AT(__u8, 0) = 0x45;
	AT(__u8, 1) = 0xff;
	AT(__be16, 2) = bpf_htons(IPV4_SIZE + CNP_SIZE);
	AT(__be16, 4) = 0;
	AT(__be16, 6) = IPV4_DONT_FRAGMENT;
	AT(__u8, 8) = 0xff;
	AT(__u8, 9) = PROTO_UDP;
	AT(__u16, 10) = 0xffff;
	AT(__u32, 12) = AT(__u32, 16);
	AT(__u32, 16) = source;
	write_cnp(data + IPV4_SIZE, n);
	icrc = ~(crc_register(ctx, net, net + IPV4_SIZE + CNP_SIZE - ICRC_SIZE) ^ cnp_icrc4);
	finish_cnp(data + IPV4_SIZE, icrc, n, (__u64)AT(__u32, 12) + AT(__u32, 16));
	AT(__u8, 1) = n->traffic_class;
	AT(__u8, 8) = CNP_TTL;
	AT(__u16, 10) = 0;
	AT(__u16, 10) = ~folded((__u64)AT(__u32, 0) + AT(__u32, 4) + AT(__u32, 8) + AT(__u32, 12) + AT(__u32, 16));
	return IPV4_SIZE + CNP_SIZE;
}

/* As answer_ipv4, over IPv6. */
static __always_inline __u32 answer_ipv6(struct xdp_md *ctx, void *data, void *end, __u32 net, struct rx_notify *n)
{
	__u64 sum = 0, half;
	__u32 icrc;

	if (data + IPV6_SIZE + CNP_SIZE > end)
		return 0;
	AT(__be32, 0) = bpf_htonl(0x6fffffff);
	AT(__be16, 4) = bpf_htons(CNP_SIZE);
	AT(__u8, 6) = PROTO_UDP;
	AT(__u8, 7) = 0xff;
#pragma unroll
	for (int i = 8; i < 24; i += 8) {
		half = AT(__u64, i);
		AT(__u64, i) = AT(__u64, i + 16);
		AT(__u64, i + 16) = half;
	}
	write_cnp(data + IPV6_SIZE, n);
	icrc = ~(crc_register(ctx, net, net + IPV6_SIZE + CNP_SIZE - ICRC_SIZE) ^ cnp_icrc6);
#pragma unroll
	for (int i = 8; i < IPV6_SIZE; i += 4)
		sum += AT(__u32, i);
	finish_cnp(data + IPV6_SIZE, icrc, n, sum);
	AT(__be32, 0) = bpf_htonl(0x60000000 | (__u32)n->traffic_class << 20);
	AT(__u8, 7) = CNP_TTL;
	return IPV6_SIZE + CNP_SIZE;
}

/* Swaps the hardware addresses. */
static __always_inline void turn_back(void *data)
{
	__u32 high = AT(__u32, 0);
	__u16 low = AT(__u16, 4);

	AT(__u32, 0) = AT(__u32, 6);
	AT(__u16, 4) = AT(__u16, 10);
	AT(__u32, 6) = high;
	AT(__u16, 10) = low;
}

/* Answers a frame with the mark CE of a stream that asks for it, if an answer is due. Frames behind
 * labels, and to groups, have none. A function of its own, so that the verifier looks at it once. */
__noinline int answer_mark(struct xdp_md *ctx, __u32 net, __u32 slot)
{
	struct rx_notify *n = bpf_map_lookup_elem(&rx_notifies, &slot);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *type;
	__u32 length = 0, total;
	__u64 at;

	if (!n || net < ETH_SIZE || net > ETH_SIZE + VLANS_MAX * VLAN_SIZE || data + ETH_SIZE > end || AT(__u8, 0) & 1)
		return XDP_DROP;
	at = net - 2;
	barrier_var(at); /* Linux 6.1 and 6.12 take no bounds from a comparison of 32 bits */
	at &= 31;
	type = data + at;
	barrier_var(type); /* the verifier knows no bytes in front of a pointer */
	if (type + 2 + IPV4_SIZE + CNP_SIZE > end || !is_due(n))
		return XDP_DROP;
	total = bpf_xdp_get_buff_len(ctx);
	switch (*(__be16 *)type) {
	case ETH_IPV4:
		length = answer_ipv4(ctx, type + 2, end, net, n);
		break;
	case ETH_IPV6:
		length = answer_ipv6(ctx, type + 2, end, net, n);
	}
	if (!length)
		return XDP_DROP;
	turn_back(data);
	if (bpf_xdp_adjust_tail(ctx, (int)(net + length) - (int)total))
		return XDP_DROP;
	__sync_fetch_and_add(&n->sent, 1);
	return bpf_redirect(port_ifindex, 0); /* after XDP_TX a veth may not wake its other end */
}

/* Says whether a packet is a CNP: UDP with these addresses of the network layer in front of it. */
static __always_inline int is_cnp(void *data, void *end)
{
	return data + CNP_SIZE <= end && AT(__be16, 2) == PORT_ROCE && AT(__u8, UDP_SIZE) == OPCODE_CNP;
}

/* Says whether a frame is a CNP, for the port as a sender. */
static __always_inline int receives_cnp(void *data, void *end)
{
	__be16 type;

	if (data + ETH_SIZE + VLANS_MAX * VLAN_SIZE > end)
		return 0;
	type = AT(__be16, 12);
	data += ETH_SIZE;
#pragma unroll
	for (int i = 0; i < VLANS_MAX; i++) {
		if (type == ETH_VLAN || type == ETH_SERVICE) {
			type = AT(__be16, 2);
			data += VLAN_SIZE;
		}
	}
	if (data + IPV6_SIZE > end)
		return 0;
	if (type == ETH_IPV4 && AT(__u8, 0) == 0x45 && AT(__u8, 9) == PROTO_UDP)
		return is_cnp(data + IPV4_SIZE, end);
	if (type == ETH_IPV6 && AT(__u8, 6) == PROTO_UDP)
		return is_cnp(data + IPV6_SIZE, end);
	return 0;
}
