/* What a received frame is: a test frame as it was sent, or one that was damaged
 * on its way (RFC 2544 section 10), or a frame of somebody else.
 *
 * A device changes frames by its nature: hardware addresses, tags and labels, the
 * time to live, code points and the header checksum of IPv4, and with NAT addresses
 * and ports. The UDP checksum covers the rest, and NAT keeps it right. The sum of the
 * payload is zero. Mostly the payload is, so that it is checked by looking for a bit. */
#pragma once
#include "body.h"
#include "kernel.h"
#include "signature.h"

enum verdict {
	FRAME_FOREIGN,
	FRAME_WHOLE,
	FRAME_TRUNCATED,  /* shorter than it was sent */
	FRAME_CORRUPTED,  /* another content, or longer than it was sent */
	FRAME_FRAGMENTED, /* the first fragment of a frame */
};

/* What precedes the signature. */
enum transport { TRANSPORT_UDP, TRANSPORT_ROCE };

#define FRAME_PADDED 64 /* up to here a frame may have grown by padding */
#define HEADERS_MAX 192 /* above where any payload begins */

/* What a test frame says of itself. */
struct test_frame {
	__u64 sequence, time;
	__u16 epoch, stream;
	__u16 net;     /* where the network layer begins */
	__u16 payload; /* behind the signature */
	__u16 length;  /* of the network layer in its header, 0 without one */
	__u16 congested; /* its mark is CE, congestion experienced (RFC 3168) */
	__u16 custom;  /* the signature is at the end; the rest is custom bytes and payload */
};

/* folded adds up the halves of a sum of 32 bit words: 0xffff says that the
 * checksum among them is right. The order of bytes does not matter (RFC 1071). */
static __always_inline __u32 folded(__u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return sum;
}

/* The sum of a signature. */
static __always_inline __u64 sum_signature(void *data)
{
	return (__u64)AT(__u32, 0) + AT(__u32, 4) + AT(__u32, 8) + AT(__u32, 12) + AT(__u16, 16);
}


/* Reads the signature, and says whether there is one. */
static __always_inline int read_signature(void *sig, void *end, struct test_frame *to)
{
	__u64 mark;

	if (sig + SIGNATURE_SIZE > end || *(__be16 *)sig != bpf_htons(MAGIC))
		return 0;
	mark = bpf_be64_to_cpu(*(__be64 *)(sig + 6));
	to->epoch = bpf_ntohs(*(__be16 *)(sig + 2));
	to->stream = bpf_ntohs(*(__be16 *)(sig + 4));
	to->sequence = mark >> 16;
	to->time = (mark & 0xffff) << 32 | bpf_ntohl(*(__be32 *)(sig + 14));
	return 1;
}

/* Reads the signature behind the header of UDP, or of RoCEv2 behind that, and says whether
 * there is one. Adds the sum of these headers, of the signature, of the word that sets the ICRC
 * and of the part of the pseudo header that is not addresses. */
static __always_inline int read_transport(void *data, void *end, enum transport kind, struct test_frame *to, __u64 *sum)
{
	void *sig = data + UDP_SIZE + (kind == TRANSPORT_ROCE ? BTH_SIZE : 0);

	if (!read_signature(sig, end, to))
		return 0;
	*sum += (__u64)AT(__u32, 0) + AT(__u32, 4) + AT(__u16, 4) + bpf_htons(PROTO_UDP) + sum_signature(sig);
	to->payload += UDP_SIZE + SIGNATURE_SIZE;
	if (kind == TRANSPORT_UDP)
		return 1;
	if (sig + SIGNATURE_SIZE + STEER_SIZE > end || AT(__be16, 2) != PORT_ROCE)
		return 0;
	*sum += (__u64)AT(__u32, UDP_SIZE) + AT(__u32, UDP_SIZE + 4) + AT(__u32, UDP_SIZE + 8) +
		AT(__u32, UDP_SIZE + BTH_SIZE + SIGNATURE_SIZE);
	to->payload += BTH_SIZE + STEER_SIZE;
	return 1;
}

/* Returns 1 for the mark CE, whose two bits are set. Without a branch, which would double the
 * paths that the verifier follows. */
static __always_inline __u16 is_congested(__u8 traffic_class)
{
	return traffic_class & traffic_class >> 1 & 1;
}

/* Options of IPv4 never occur in test frames. A later fragment has no signature,
 * and is foreign. */
static __always_inline int read_ipv4(void *data, void *end, enum transport kind, struct test_frame *to)
{
	__u64 sum = 0;

	if (data + IPV4_SIZE > end || AT(__u8, 0) != 0x45 || AT(__u8, 9) != PROTO_UDP)
		return FRAME_FOREIGN;
	if (!read_transport(data + IPV4_SIZE, end, kind, to, &sum))
		return FRAME_FOREIGN;
	if (folded((__u64)AT(__u32, 0) + AT(__u32, 4) + AT(__u32, 8) + AT(__u32, 12) + AT(__u32, 16)) != 0xffff)
		return FRAME_CORRUPTED;
	if (AT(__be16, 6) & bpf_htons(IPV4_FRAGMENT))
		return FRAME_FRAGMENTED;
	if (folded(sum + AT(__u32, 12) + AT(__u32, 16)) != 0xffff)
		return FRAME_CORRUPTED;
	to->length = bpf_ntohs(AT(__be16, 2));
	to->payload += IPV4_SIZE;
	to->congested = is_congested(AT(__u8, 1));
	return FRAME_WHOLE;
}

/* The first fragment of a frame over IPv6. */
static __always_inline int read_fragment(void *data, void *end, struct test_frame *to)
{
	data += IPV6_SIZE;
	if (data + IPV6_FRAGMENT_SIZE > end || AT(__u8, 0) != PROTO_UDP)
		return FRAME_FOREIGN;
	return read_signature(data + IPV6_FRAGMENT_SIZE + UDP_SIZE, end, to) ? FRAME_FRAGMENTED : FRAME_FOREIGN;
}

static __always_inline int read_ipv6(void *data, void *end, enum transport kind, struct test_frame *to)
{
	__u64 sum = 0;

	if (data + IPV6_SIZE > end)
		return FRAME_FOREIGN;
	if (AT(__u8, 6) == PROTO_FRAGMENT)
		return read_fragment(data, end, to);
	if (AT(__u8, 6) != PROTO_UDP)
		return FRAME_FOREIGN;
	if (!read_transport(data + IPV6_SIZE, end, kind, to, &sum))
		return FRAME_FOREIGN;
	for (int i = 8; i < IPV6_SIZE; i += 4)
		sum += AT(__u32, i);
	if (folded(sum) != 0xffff)
		return FRAME_CORRUPTED;
	to->length = IPV6_SIZE + bpf_ntohs(AT(__be16, 4));
	to->payload += IPV6_SIZE;
	to->congested = is_congested(AT(__u8, 1) >> 4);
	return FRAME_WHOLE;
}

/* Without a network layer the signature has a checksum of its own. */
static __always_inline int read_ethernet(void *data, void *end, struct test_frame *to)
{
	if (!read_signature(data, end, to))
		return FRAME_FOREIGN;
	if (data + SIGNATURE_SIZE + ETHERNET_CHECK_SIZE > end)
		return FRAME_TRUNCATED;
	if (folded(sum_signature(data) + AT(__u16, SIGNATURE_SIZE)) != 0xffff)
		return FRAME_CORRUPTED;
	to->payload += SIGNATURE_SIZE + ETHERNET_CHECK_SIZE;
	return FRAME_WHOLE;
}

/* Nothing but its first bits says what follows a label stack; those of the
 * signature's magic are neither version of IP. */
static __always_inline int read_labelled(void *data, void *end, struct test_frame *to)
{
	for (int i = 0; i < LABELS_MAX; i++) {
		if (data + LABEL_SIZE + 1 > end)
			return FRAME_FOREIGN;
		to->net += LABEL_SIZE;
		to->payload += LABEL_SIZE;
		if (!(AT(__u8, 2) & 1)) { /* not the bottom of the stack */
			data += LABEL_SIZE;
			continue;
		}
		switch (AT(__u8, LABEL_SIZE) >> 4) {
		case 4:
			return read_ipv4(data + LABEL_SIZE, end, TRANSPORT_UDP, to);
		case 6:
			return read_ipv6(data + LABEL_SIZE, end, TRANSPORT_UDP, to);
		}
		return read_ethernet(data + LABEL_SIZE, end, to);
	}
	return FRAME_FOREIGN;
}

static __always_inline int read_network(void *data, void *end, __be16 type, struct test_frame *to)
{
	switch (type) {
	case ETH_IPV4:
		return read_ipv4(data, end, TRANSPORT_UDP, to);
	case ETH_IPV6:
		return read_ipv6(data, end, TRANSPORT_UDP, to);
	case ETH_TEST:
		return read_ethernet(data, end, to);
	case ETH_MPLS:
		return read_labelled(data, end, to);
	}
	return FRAME_FOREIGN;
}

static __always_inline int is_tag(__be16 type)
{
	return type == ETH_VLAN || type == ETH_SERVICE;
}

/* Reads a frame and checks its headers. It may have gained or lost tags on its way, and
 * labels. */
static __always_inline int read_frame(void *data, void *end, struct test_frame *to)
{
	if (data + ETH_SIZE + VLANS_MAX * VLAN_SIZE > end)
		return FRAME_FOREIGN;
	to->net = to->payload = ETH_SIZE;
	if (!is_tag(AT(__be16, 12)))
		return read_network(data + ETH_SIZE, end, AT(__be16, 12), to);
	to->net = to->payload = ETH_SIZE + VLAN_SIZE;
	if (!is_tag(AT(__be16, 16)))
		return read_network(data + ETH_SIZE + VLAN_SIZE, end, AT(__be16, 16), to);
	to->net = to->payload = ETH_SIZE + VLANS_MAX * VLAN_SIZE;
	return read_network(data + ETH_SIZE + VLANS_MAX * VLAN_SIZE, end, AT(__be16, 20), to);
}

/* Says whether the beginning of a signature stands here, of which one byte may be
 * wrong. */
static __always_inline int resembles(void *data, void *end, __u16 epoch, struct test_frame *to)
{
	if (data + 6 > end)
		return FRAME_FOREIGN;
	if ((AT(__u8, 0) == MAGIC >> 8) + (AT(__u8, 1) == (MAGIC & 0xff)) +
	    (AT(__u8, 2) == epoch >> 8) + (AT(__u8, 3) == (epoch & 0xff)) < 3)
		return FRAME_FOREIGN;
	to->stream = bpf_ntohs(AT(__be16, 4));
	return data + SIGNATURE_SIZE > end ? FRAME_TRUNCATED : FRAME_CORRUPTED;
}

/* Looks for a test frame of this trial whose damage hides what it is: its EtherType,
 * version, protocol or magic is wrong, or its signature has no end. */
static __always_inline int read_disfigured(void *data, void *end, __u16 epoch, struct test_frame *to)
{
	int verdict;

	for (int net = ETH_SIZE; net <= ETH_SIZE + VLANS_MAX * VLAN_SIZE; net += VLAN_SIZE) {
		verdict = resembles(data + net + IPV4_SIZE + UDP_SIZE, end, epoch, to);
		if (verdict == FRAME_FOREIGN)
			verdict = resembles(data + net + IPV6_SIZE + UDP_SIZE, end, epoch, to);
		if (verdict == FRAME_FOREIGN)
			verdict = resembles(data + net, end, epoch, to);
		if (verdict != FRAME_FOREIGN)
			return verdict;
	}
	return FRAME_FOREIGN;
}

static __always_inline __u64 any_of_64(void *data)
{
	return AT(__u64, 0) | AT(__u64, 8) | AT(__u64, 16) | AT(__u64, 24) |
	       AT(__u64, 32) | AT(__u64, 40) | AT(__u64, 48) | AT(__u64, 56);
}

/* Compares as it stands: the compiler may not move the arithmetic to end, which the
 * verifier forbids. */
static __always_inline int reaches(void *to, void *end)
{
	barrier_var(to);
	return to <= end;
}

/* Says whether a byte from from to to, fewer than 64 of the first buffer, is not
 * zero. */
static __always_inline int few_not_zero(void *data, void *end, __u32 from, __u32 to)
{
	__u32 left = to - from;
	__u64 any = 0;

	data += from;
#pragma clang loop unroll(disable)
	for (int i = 0; i < 7 && left >= 8; i++) {
		if (!reaches(data + 8, end))
			return 1;
		any |= AT(__u64, 0);
		data += 8;
		left -= 8;
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < 7 && left; i++) {
		if (!reaches(data + 1, end))
			return 1;
		any |= AT(__u8, 0);
		data++;
		left--;
	}
	return any != 0;
}

/* Says whether a byte from from to to, in the first buffer, is not zero. The last 64
 * bytes are looked at together, of which some may be for the second time. A function
 * of its own, so that the verifier looks at it once. */
__attribute__((noinline)) int not_zero(struct xdp_md *ctx, __u32 from, __u32 to)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *last;
	__u64 any;
	__u32 left;

	if (from > HEADERS_MAX || to > FRAME_MAX || from > to)
		return 1;
	if (to - from < 64)
		return few_not_zero(data, end, from, to);
	left = to - 64;
	if (left > FRAME_MAX)
		return 1;
	last = data + left;
	if (!reaches(last + 64, end))
		return 1;
	any = any_of_64(last);
	to -= from;
	data += from;
#pragma clang loop unroll(disable)
	for (int i = 0; i < FRAME_MAX / 64 && to > 64; i++) {
		if (!reaches(data + 64, end))
			return 1;
		any |= any_of_64(data);
		data += 64;
		to -= 64;
	}
	return any != 0;
}

/* The part of a frame in which look_behind looks for a byte that is not zero. */
struct behind {
	struct xdp_md *ctx;
	__u64 any;
	__u32 from, to;
};

static long look_behind(__u64 i, struct behind *b)
{
	__u64 part[16] = {};
	__u64 last = less_one(b->to - b->from);

	if (last >= FRAME_MAX)
		return 1;
	if (last >= sizeof(part))
		last = sizeof(part) - 1;
	if (bpf_xdp_load_bytes(b->ctx, b->from, part, last + 1))
		part[0] = 1;
	b->any |= any_of_64(part) | any_of_64(part + 8);
	b->from += last + 1;
	return 0;
}

/* As not_zero, in the buffers behind the first. */
__attribute__((noinline)) int not_zero_behind(struct xdp_md *ctx, __u32 from, __u32 to)
{
	struct behind b = {.ctx = ctx, .from = from, .to = to};

	bpf_loop(FRAME_MAX / 128 + 1, look_behind, &b, 0);
	return b.any || b.from != b.to;
}

/* What a stream has behind its signature. */
struct payload {
	__u16 length;  /* of the network layer, or of the payload behind custom bytes */
	__u16 balance; /* in front of the pattern, by which their sum is zero */
	__u16 custom;  /* bytes in front of it, 0 for none */
	__u8 balanced; /* there is a balance */
	__u8 body;     /* 0 for zeros */
};

#define CUSTOM_SIGNATURE (SIGNATURE_SIZE + ETHERNET_CHECK_SIZE)

/* Looks for a signature at the end of a frame, which custom frames have there. A function
 * of its own, so that the verifier looks at it once. */
__noinline int read_custom(struct xdp_md *ctx, struct test_frame *to)
{
	__u64 words[3] = {}, mark;
	void *data = (void *)words + 2; /* by which its fields are aligned */
	__u32 total = bpf_xdp_get_buff_len(ctx);

	if (!to || total < CUSTOM_SIGNATURE || total > FRAME_MAX)
		return FRAME_FOREIGN;
	if (bpf_xdp_load_bytes(ctx, total - CUSTOM_SIGNATURE, data, CUSTOM_SIGNATURE))
		return FRAME_FOREIGN;
	if (!read_signature(data, data + CUSTOM_SIGNATURE, to))
		return FRAME_FOREIGN;
	to->custom = 1;
	mark = AT(__u64, 6);
	if (folded((mark >> 32) + (mark & 0xffffffff) + AT(__u16, 0) + AT(__u16, 2) + AT(__u16, 4) +
		   AT(__u32, 14) + AT(__u16, SIGNATURE_SIZE)) != 0xffff)
		return FRAME_CORRUPTED;
	return FRAME_WHOLE;
}

/* Checks the payload between custom bytes, which a device may change by its nature, and
 * the signature. */
static __always_inline int check_custom(struct xdp_md *ctx, struct payload *p)
{
	__u32 to = bpf_xdp_get_buff_len(ctx) - CUSTOM_SIGNATURE;

	if (to < p->length)
		return FRAME_TRUNCATED;
	if (p->length && differs(ctx, to - p->length, to, p->body, p->custom))
		return FRAME_CORRUPTED;
	return FRAME_WHOLE;
}

/* Says whether a payload that is no zeros differs from what was sent. */
static __always_inline int changed(struct xdp_md *ctx, __u32 from, __u32 to, struct payload *p)
{
	__u16 balance;

	if (p->balanced) {
		if (bpf_xdp_load_bytes(ctx, from, &balance, sizeof(balance)) || balance != p->balance)
			return 1;
		from += sizeof(balance);
	}
	return differs(ctx, from, to, p->body, 0);
}

/* Checks the length of a frame, and what follows its signature. */
static __always_inline int check_behind(struct xdp_md *ctx, struct test_frame *f, struct payload *p)
{
	__u32 length = p->length;
	__u32 first = (__u32)(ctx->data_end - ctx->data), total = first, to = f->net + length;

	if (total != to)
		total = bpf_xdp_get_buff_len(ctx);
	if (total < to)
		return FRAME_TRUNCATED;
	if (total > to && total > FRAME_PADDED)
		return FRAME_CORRUPTED;
	if (f->length && f->length != length)
		return FRAME_CORRUPTED;
	if (f->payload >= to)
		return FRAME_WHOLE;
	if (p->body)
		return changed(ctx, f->payload, to, p) ? FRAME_CORRUPTED : FRAME_WHOLE;
	if (not_zero(ctx, f->payload, to < first ? to : first))
		return FRAME_CORRUPTED;
	if (first < to && not_zero_behind(ctx, first, to))
		return FRAME_CORRUPTED;
	return FRAME_WHOLE;
}

static __always_inline int check_payload(struct xdp_md *ctx, struct test_frame *f, struct payload *p)
{
	if (!p->custom != !f->custom)
		return FRAME_CORRUPTED;
	return f->custom ? check_custom(ctx, p) : check_behind(ctx, f, p);
}
