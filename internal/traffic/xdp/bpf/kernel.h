/* The few kernel types that the programs need, so that building them takes
 * clang and libbpf's headers and no kernel headers. Types marked
 * preserve_access_index are matched by name against the running kernel. */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed short __s16;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_PERCPU_ARRAY = 6, BPF_MAP_TYPE_DEVMAP = 14 };
enum { BPF_F_MMAPABLE = 1 << 10 };
enum xdp_action { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

struct bpf_spin_lock {
	__u32 val;
};

struct xdp_md {
	__u32 data;
	__u32 data_end;
	__u32 data_meta;
	__u32 ingress_ifindex;
	__u32 rx_queue_index;
	__u32 egress_ifindex;
};

#define CORE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} CORE;

struct net {
	struct ns_common ns;
} CORE;

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} CORE;

struct bpf_prog_aux {
	__u32 id;
} CORE;

struct bpf_prog {
	struct bpf_prog_aux *aux;
} CORE;

#define ETH_IPV4 bpf_htons(0x0800)
#define ETH_IPV6 bpf_htons(0x86dd)
#define ETH_VLAN bpf_htons(0x8100)
#define ETH_SERVICE bpf_htons(0x88a8) /* the outer of two tags */
#define ETH_MPLS bpf_htons(0x8847)
#define ETH_TEST bpf_htons(0x88b5) /* frame.EtherTypeTest */
#define ETH_SIZE 14
#define VLAN_SIZE 4
#define VLANS_MAX 2 /* frame.MaxVLANs */
#define LABEL_SIZE 4
#define LABELS_MAX 4
#define TUNNEL_SIZE 70 /* of the longest: IPv6, UDP, VXLAN and Ethernet */
#define IPV4_SIZE 20
#define IPV6_SIZE 40
#define UDP_SIZE 8
#define PORT_ROCE bpf_htons(4791) /* frame.RoCEPort */
#define BTH_SIZE 12 /* the Base Transport Header of RoCEv2 */
#define STEER_SIZE 4 /* the word behind the signature that sets the ICRC of RoCEv2 */
#define PROTO_UDP 17
#define PROTO_FRAGMENT 44
#define IPV4_FRAGMENT 0x3fff /* more fragments, or the offset of one */
#define IPV6_FRAGMENT_SIZE 8

/* less_one returns a length less one, and a huge number for 0. One comparison with the
 * highest length then gives the verifier both bounds of the length. Linux 6.1 learns no
 * lower bound from a comparison with 0, and 6.12 loses one where the compiler compares 32
 * bits of a register: the barrier keeps all 64. */
static __always_inline __u64 less_one(__u32 length)
{
	__u64 n = (__u64)length - 1;

	barrier_var(n);
	return n;
}

/* log2_64 returns the place of the highest bit of a value below 2^63. Without branches,
 * whose paths the verifier would follow one by one. */
static __always_inline __u32 log2_64(__u64 v)
{
	__u32 r = 0, shift;

#pragma unroll
	for (__u32 bits = 32; bits; bits /= 2) {
		shift = (((1ULL << bits) - 1 - v) >> 63) * bits;
		v >>= shift;
		r += shift;
	}
	return r;
}
