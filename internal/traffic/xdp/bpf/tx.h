/* The frames of a stream: what they are, writing the next one, and taking back one
 * that the device refused. */
#pragma once
#include "body.h"
#include "hole.h"
#include "kernel.h"
#include "signature.h"

#define MAC_SPREAD 0x9e3779 /* traffic.MACSpread */

/* VLANS_MAX tags, LABELS_MAX labels, a tunnel, IPv6, UDP and the signature, in words of 8
 * bytes. */
#define HEAD_WORDS 22
/* The words that every frame has room for: the smallest has 60 bytes. */
#define HEAD_LEAST 6
#define NET_MAX (ETH_SIZE + VLANS_MAX * VLAN_SIZE + LABELS_MAX * LABEL_SIZE + TUNNEL_SIZE)

#include "icrc.h"

enum layer { LAYER_NONE, LAYER_IPV4, LAYER_IPV6, LAYER_CUSTOM };

/* One sending stream. User space writes everything but seq, unsent, refused and
 * the positions; those it resets between trials. */
struct tx_stream {
	__u64 seq;     /* of the next frame */
	__u64 unsent;  /* numbers below it that were never sent; the others the device took or holds */
	__u64 refused; /* frames that the device did not take */
	/* Of a stream that sends as fast as it can: frames not handed out yet, and when
	 * it begins. Others have a group. */
	__u64 left, begin;
	__u64 src, dst; /* first address: IPv4, or the part of IPv6 that counts up; or what
			 * the signature at the end of a custom frame begins with */
	__u64 dst_step; /* from one destination to the next */
	__u32 src_count, dst_count, sport_count, dport_count;
	__u32 src_pos, dst_pos, sport_pos, dport_pos;
	__u32 smac, dmac; /* the low 24 bits of the first, see traffic.MAC.Nth */
	__u32 smac_count, dmac_count, smac_pos, dmac_pos;
	/* What does not change and the checksums cover: of IPv4's header, or of the
	 * signature without a network layer; and of UDP, with addresses and ports if they
	 * do not change. */
	__u32 sum, udp_sum;
	__u16 sport, dport;
	__u16 len;   /* without FCS */
	__u8 net;    /* where the network layer begins, at most NET_MAX */
	__u8 layer;  /* enum layer */
	__u8 words;  /* of head to write, HEAD_LEAST to HEAD_WORDS */
	__u8 macs;   /* hardware addresses change from frame to frame */
	__u8 mixed;  /* other streams of the port write further into a frame */
	__u8 ranges; /* addresses or ports change from frame to frame; else head has them */
	__u8 body;   /* of the payload */
	__u8 dst_at; /* where in an IPv6 address 8 bytes count up: 0, 2, 4, 6 or 8 */
	__u16 body_at; /* where it is written; 0: every frame has it already, or has none */
	__u16 id;      /* of the stream */
	__u8 plain;    /* IPv4 without tags, and nothing but the signature changes from frame to frame */
	__u8 icrc_from; /* of RoCEv2: where what changes begins, from the network layer on; 0 without */
	__u8 pad[2];
	__u32 icrc_sum; /* of the register of the CRC and the word that sets the ICRC */
	__u32 pad2;
	__u64 head[HEAD_WORDS]; /* the beginning of the frame */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tx_stream);
} tx_streams SEC(".maps");

static __always_inline __u32 fold64(__u64 v)
{
	v = (v >> 32) + (v & 0xffffffff);
	v = (v >> 32) + (v & 0xffffffff);
	return v;
}

/* checksum returns the Internet checksum (RFC 1071) of a sum of 16 bit words below 2^48. */
static __always_inline __u16 checksum(__u64 sum)
{
	sum = (sum >> 32) + (__u16)(sum >> 16) + (__u16)sum;
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return ~sum;
}

/* step returns the offset of this frame in a range and moves on. */
static __always_inline __u32 step(__u32 *pos, __u32 count)
{
	__u32 now = *pos, next = now + 1;

	*pos = next < count ? next : 0;
	return now;
}

#define AT(type, off) (*(type *)(data + (off)))

static __always_inline void write_signature(void *data, __u64 mark, __u64 time)
{
	AT(__be64, 6) = bpf_cpu_to_be64(mark);
	AT(__be32, 14) = bpf_htonl(time);
}

/* Writes the checksum of UDP. Sum is the sum of what changes in front of the signature. */
static __always_inline void write_check(void *data, struct tx_stream *s, __u64 sum, __u64 mark, __u64 time)
{
	__u16 check = checksum((__u64)s->udp_sum + sum + (mark >> 32) + (__u32)mark + (__u32)time);

	AT(__be16, 6) = bpf_htons(check ? check : 0xffff); /* 0 would mean none */
}

/* Writes what of UDP and the signature behind it changes in every frame. Sum is the sum of
 * the addresses and ports that change. */
static __always_inline void write_udp(void *data, struct tx_stream *s, __u64 sum, __u64 mark, __u64 time)
{
	write_check(data, s, sum, mark, time);
	write_signature(data + UDP_SIZE, mark, time);
}

/* Writes the same behind the header of RoCEv2, whose packet sequence number changes as well. Udp
 * is where UDP begins. Returns 0 without room. */
static __always_inline int write_roce(struct xdp_md *ctx, void *data, void *end, struct tx_stream *s, __u32 udp, __u64 sum,
				      __u64 mark, __u64 time)
{
	__u32 number = (__u32)(mark >> 16) & 0xffffff, steer;

	if (data + UDP_SIZE + BTH_SIZE + SIGNATURE_SIZE + STEER_SIZE > end)
		return 0;
	AT(__be32, UDP_SIZE + BTH_SIZE - 4) = bpf_htonl(number);
	write_signature(data + UDP_SIZE + BTH_SIZE, mark, time);
	steer = s->icrc_sum ^ crc_register(ctx, s->net + s->icrc_from, udp + UDP_SIZE + BTH_SIZE + SIGNATURE_SIZE);
	AT(__u32, UDP_SIZE + BTH_SIZE + SIGNATURE_SIZE) = steer; /* the CRC is little endian */
	write_check(data, s, sum + number + bpf_ntohl(steer), mark, time);
	return 1;
}

/* Without a network layer, the signature's own checksum follows it. */
static __always_inline void write_ethernet(void *data, struct tx_stream *s, __u64 mark, __u64 time)
{
	write_signature(data, mark, time);
	AT(__be16, SIGNATURE_SIZE) = bpf_htons(checksum((__u64)s->sum + fold64(mark) + (__u32)time));
}

/* Writes the next ports, and returns their sum. */
static __always_inline __u32 write_ports(void *data, struct tx_stream *s)
{
	__u16 sport = s->sport + step(&s->sport_pos, s->sport_count);
	__u16 dport = s->dport + step(&s->dport_pos, s->dport_count);

	AT(__be16, 0) = bpf_htons(sport);
	AT(__be16, 2) = bpf_htons(dport);
	return (__u32)sport + dport;
}

/* Writes the addresses and ports that change, and returns their sum. */
static __always_inline __u64 write_ipv4(void *data, struct tx_stream *s)
{
	__u64 sum = 0;

	if (s->ranges) {
		__u32 src = s->src + step(&s->src_pos, s->src_count);
		__u32 dst = s->dst + step(&s->dst_pos, s->dst_count) * s->dst_step;

		AT(__be16, 10) = bpf_htons(checksum((__u64)s->sum + src + dst));
		AT(__be32, 12) = bpf_htonl(src);
		AT(__be32, 16) = bpf_htonl(dst);
		sum = (__u64)src + dst + write_ports(data + IPV4_SIZE, s);
	}
	return sum;
}

/* Writes the part of an IPv6 address that counts up. */
static __always_inline void write_part(void *data, __u8 at, __be64 part)
{
	switch (at) {
	case 0:
		AT(__be64, 0) = part;
		break;
	case 2:
		AT(__be64, 2) = part;
		break;
	case 4:
		AT(__be64, 4) = part;
		break;
	case 6:
		AT(__be64, 6) = part;
		break;
	default:
		AT(__be64, 8) = part;
	}
}

static __always_inline __u64 write_ipv6(void *data, struct tx_stream *s)
{
	__u64 sum = 0;

	if (s->ranges) {
		__u64 src = s->src + step(&s->src_pos, s->src_count);
		__u64 dst = s->dst + step(&s->dst_pos, s->dst_count) * s->dst_step;

		AT(__be64, 16) = bpf_cpu_to_be64(src);
		write_part(data + 24, s->dst_at, bpf_cpu_to_be64(dst));
		sum = (__u64)fold64(src) + fold64(dst) + write_ports(data + IPV6_SIZE, s);
	}
	return sum;
}

/* Writes the lower three bytes of address number n of a range. */
static __always_inline void write_mac(void *data, __u32 first, __u32 n)
{
	__u32 low = first + n * MAC_SPREAD;

	AT(__u8, 0) = low >> 16;
	AT(__be16, 1) = bpf_htons(low);
}

/* Clears the last 8 bytes of a frame, which the words of the head may not reach. */
static __always_inline int clear_end(void *data, void *end, __u32 len)
{
	__u32 at = len - 8;

	if (at > 0x7fff || data + at + 8 > end)
		return 0;
	AT(__u64, at) = 0;
	return 1;
}

/* Writes the signature at the end of a custom frame. */
static __always_inline int write_custom(void *data, void *end, struct tx_stream *s, __u64 mark, __u64 time)
{
	__u32 at = s->len - SIGNATURE_SIZE - ETHERNET_CHECK_SIZE;

	if (at > 0x7fff || data + at + SIGNATURE_SIZE + ETHERNET_CHECK_SIZE > end)
		return 0;
	AT(__u64, at) = s->src;
	write_ethernet(data + at, s, mark, time);
	return 1;
}

/* Writes the stream's next frame at a time, if nothing but the signature changes from frame
 * to frame. */
static __always_inline int write_plain(void *data, void *end, struct tx_stream *s, __u64 now)
{
	__u64 time = now & MASK48, mark = s->seq << 16 | time >> 32;

	if (data + ETH_SIZE + IPV4_SIZE + UDP_SIZE + SIGNATURE_SIZE > end)
		return 0;
	for (int i = 0; i < HEAD_LEAST; i++)
		AT(__u64, i * 8) = s->head[i];
	write_udp(data + ETH_SIZE + IPV4_SIZE, s, 0, mark, time);
	s->seq++;
	return 1;
}

/* Writes the stream's next frame at a time, except for its body, and says whether it had
 * room. The signature overwrites a part of the head. */
static __always_inline int write_frame(struct xdp_md *ctx, struct tx_stream *s, __u64 now)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 time = now & MASK48;
	__u32 at = s->net, words = s->words;
	__u64 mark = s->seq << 16 | time >> 32, sum;
	void *net;

	if (at > NET_MAX || data + HEAD_LEAST * 8 > end)
		return 0;
	net = data + at;
	if (s->mixed && !clear_end(data, end, s->len))
		return 0;
	for (int i = 0; i < HEAD_LEAST; i++)
		AT(__u64, i * 8) = s->head[i];
	if (words > HEAD_LEAST) {
		for (int i = HEAD_LEAST; i < HEAD_WORDS; i++) {
			if (i >= words || data + i * 8 + 8 > end)
				break;
			AT(__u64, i * 8) = s->head[i];
		}
	}
	if (s->macs) {
		write_mac(data + 3, s->dmac, step(&s->dmac_pos, s->dmac_count));
		write_mac(data + 9, s->smac, step(&s->smac_pos, s->smac_count));
	}
	switch (s->layer) {
	case LAYER_IPV4:
		if (net + IPV4_SIZE + UDP_SIZE + SIGNATURE_SIZE > end)
			return 0;
		sum = write_ipv4(net, s);
		if (!s->icrc_from)
			write_udp(net + IPV4_SIZE, s, sum, mark, time);
		else if (!write_roce(ctx, net + IPV4_SIZE, end, s, at + IPV4_SIZE, sum, mark, time))
			return 0;
		break;
	case LAYER_IPV6:
		if (net + IPV6_SIZE + UDP_SIZE + SIGNATURE_SIZE > end)
			return 0;
		sum = write_ipv6(net, s);
		if (!s->icrc_from)
			write_udp(net + IPV6_SIZE, s, sum, mark, time);
		else if (!write_roce(ctx, net + IPV6_SIZE, end, s, at + IPV6_SIZE, sum, mark, time))
			return 0;
		break;
	case LAYER_CUSTOM:
		if (!write_custom(data, end, s, mark, time))
			return 0;
		break;
	default:
		if (net + SIGNATURE_SIZE + ETHERNET_CHECK_SIZE > end)
			return 0;
		write_ethernet(net, s, mark, time);
	}
	s->seq++;
	return 1;
}

/* step_back undoes the last steps. */
static __always_inline void step_back(__u32 *pos, __u32 count, __u32 steps)
{
	if (steps >= count)
		steps %= count;
	*pos = *pos >= steps ? *pos - steps : *pos + count - steps;
}

/* move_on moves the places of a stream in its ranges on by a frame. */
static __always_inline void move_on(struct tx_stream *s)
{
	if (s->macs) {
		step(&s->dmac_pos, s->dmac_count);
		step(&s->smac_pos, s->smac_count);
	}
	if (!s->ranges)
		return;
	step(&s->src_pos, s->src_count);
	step(&s->dst_pos, s->dst_count);
	step(&s->sport_pos, s->sport_count);
	step(&s->dport_pos, s->dport_count);
}

/* move_back moves the places of a stream in its ranges back by some frames. */
static __always_inline void move_back(struct tx_stream *s, __u32 frames)
{
	if (s->macs) {
		step_back(&s->dmac_pos, s->dmac_count, frames);
		step_back(&s->smac_pos, s->smac_count, frames);
	}
	if (!s->ranges)
		return;
	step_back(&s->src_pos, s->src_count, frames);
	step_back(&s->dst_pos, s->dst_count, frames);
	step_back(&s->sport_pos, s->sport_count, frames);
	step_back(&s->dport_pos, s->dport_count, frames);
}
