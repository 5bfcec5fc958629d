/* Test frames whose packet is carried in a tunnel, and test frames of RoCEv2. */
#pragma once
#include "rxframe.h"

#define PROTO_GRE 47
#define PORT_VXLAN bpf_htons(4789)
#define PORT_GENEVE bpf_htons(6081)
#define PORT_GTPU bpf_htons(2152)
#define VXLAN_SIZE 8
#define GENEVE_SIZE 8
#define GTPU_SIZE 8
#define GRE_SIZE 4
#define ETH_BRIDGED bpf_htons(0x6558)
/* Above where the packet in a tunnel begins: frame.Packet.NetworkOffset. */
#define TUNNELLED_MAX 128

/* Where the reader stands in a frame, and what follows there. */
struct cursor {
	__u32 at;
	__be16 type; /* EtherType; 0: what the first bits of a packet say */
	enum transport kind; /* of the packet */
};

/* Says whether so many bytes are left from the cursor on. */
#define HAS(n) (c->at <= TUNNELLED_MAX && reaches(data + c->at + (n), end))

static __always_inline int skip_labels(void *data, void *end, struct cursor *c)
{
	for (int i = 0; i < LABELS_MAX; i++) {
		if (!HAS(LABEL_SIZE))
			return 0;
		c->at += LABEL_SIZE;
		if (AT(__u8, c->at - LABEL_SIZE + 2) & 1) {
			c->type = 0;
			return 1;
		}
	}
	return 0;
}

/* Finds out of which version a packet is. */
static __always_inline int read_version(void *data, void *end, struct cursor *c)
{
	if (c->type)
		return 1;
	if (!HAS(1))
		return 0;
	c->type = AT(__u8, c->at) >> 4 == 4 ? ETH_IPV4 : ETH_IPV6;
	return 1;
}

static __always_inline int skip_gre(void *data, void *end, struct cursor *c)
{
	if (!HAS(GRE_SIZE) || AT(__be16, c->at)) /* options, or another version */
		return 0;
	c->type = AT(__be16, c->at + 2);
	c->at += GRE_SIZE;
	return c->type == ETH_IPV4 || c->type == ETH_IPV6;
}

static __always_inline int skip_udp(void *data, void *end, struct cursor *c, __u32 packet)
{
	__be16 port;

	if (!HAS(UDP_SIZE + GENEVE_SIZE))
		return 0;
	port = AT(__be16, c->at + 2);
	c->at += UDP_SIZE;
	switch (port) {
	case PORT_ROCE:
		c->at = packet;
		c->kind = TRANSPORT_ROCE;
		return 1;
	case PORT_VXLAN:
		c->type = ETH_BRIDGED;
		c->at += VXLAN_SIZE;
		return 1;
	case PORT_GENEVE:
		if (AT(__u8, c->at)) /* options, or another version */
			return 0;
		c->type = AT(__be16, c->at + 2);
		c->at += GENEVE_SIZE;
		return c->type == ETH_BRIDGED;
	case PORT_GTPU:
		if (AT(__be16, c->at) != bpf_htons(0x30ff)) /* extensions, or no packet of a user */
			return 0;
		c->type = 0;
		c->at += GTPU_SIZE;
		return 1;
	}
	return 0;
}

/* Skips the outer packet and the header of the tunnel. Frames of RoCEv2 have no tunnel. */
static __always_inline int skip_tunnel(void *data, void *end, struct cursor *c)
{
	__u32 packet = c->at;
	__u8 protocol;

	if (!HAS(IPV6_SIZE)) /* what a tunnel holds is longer than that over IPv4 too */
		return 0;
	switch (c->type) {
	case ETH_IPV4:
		if (AT(__u8, c->at) != 0x45 || AT(__be16, c->at + 6) & bpf_htons(IPV4_FRAGMENT))
			return 0;
		protocol = AT(__u8, c->at + 9);
		c->at += IPV4_SIZE;
		break;
	case ETH_IPV6:
		protocol = AT(__u8, c->at + 6);
		c->at += IPV6_SIZE;
		break;
	default:
		return 0;
	}
	switch (protocol) {
	case PROTO_UDP:
		return skip_udp(data, end, c, packet);
	case PROTO_GRE:
		return skip_gre(data, end, c);
	}
	return 0;
}

/* Reads the packet of an EtherType at an offset, and checks its headers. A function of its own,
 * so that the verifier looks at it once for all offsets. */
__noinline int read_packet(struct xdp_md *ctx, struct test_frame *to, __u32 at, __u32 type, __u32 kind)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (!to || at > TUNNELLED_MAX)
		return FRAME_FOREIGN;
	to->net = to->payload = at;
	data += at;
	if (kind == TRANSPORT_ROCE) {
		if (type == ETH_IPV4)
			return read_ipv4(data, end, TRANSPORT_ROCE, to);
		return read_ipv6(data, end, TRANSPORT_ROCE, to);
	}
	if (type == ETH_IPV4)
		return read_ipv4(data, end, TRANSPORT_UDP, to);
	if (type == ETH_IPV6)
		return read_ipv6(data, end, TRANSPORT_UDP, to);
	return FRAME_FOREIGN;
}

/* Reads a frame of RoCEv2, or one whose packet is in a tunnel, and checks the headers of that
 * packet: a device may change those of the tunnel. A function of its own, so that the verifier
 * looks at it once. */
__noinline int read_behind(struct xdp_md *ctx, struct test_frame *to)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct cursor cursor = {.at = ETH_SIZE}, *c = &cursor;

	if (!to || data + ETH_SIZE > end)
		return FRAME_FOREIGN;
	c->type = AT(__be16, 12);
	for (int i = 0; i < VLANS_MAX && is_tag(c->type); i++) {
		if (!HAS(VLAN_SIZE))
			return FRAME_FOREIGN;
		c->type = AT(__be16, c->at + 2);
		c->at += VLAN_SIZE;
	}
	if (c->type == ETH_MPLS && !skip_labels(data, end, c))
		return FRAME_FOREIGN;
	if (!read_version(data, end, c) || !skip_tunnel(data, end, c))
		return FRAME_FOREIGN;
	if (c->type == ETH_BRIDGED) {
		if (!HAS(ETH_SIZE))
			return FRAME_FOREIGN;
		c->type = AT(__be16, c->at + 12);
		c->at += ETH_SIZE;
	}
	if (!read_version(data, end, c))
		return FRAME_FOREIGN;
	return read_packet(ctx, to, c->at, c->type, c->kind);
}
