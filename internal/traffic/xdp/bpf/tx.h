/* Transmission. User space puts the streams of the next frames into a plan and
 * runs it by BPF_PROG_RUN with live frames, once per entry. */
#pragma once
#include "kernel.h"
#include "signature.h"

#define PLAN_MAX 1024
#define MAC_SPREAD 0x9e3779 /* traffic.MACSpread */
#define PENDING_MAX 256 /* above any driver bulk: the kernel's holds 16 */

/* A tag and LABELS_MAX labels, IPv6, UDP and the signature, in words of 8 bytes. */
#define HEAD_WORDS 13
/* The words that every frame has room for: the smallest has 60 bytes. */
#define HEAD_LEAST 6
#define NET_MAX (ETH_SIZE + VLAN_SIZE + LABELS_MAX * LABEL_SIZE)

enum layer { LAYER_NONE, LAYER_IPV4, LAYER_IPV6 };

/* One sending stream. User space writes everything but seq, refused and the
 * positions; those it resets between trials. */
struct tx_stream {
	__u64 seq;     /* of the next frame: frames that the device took or holds */
	__u64 refused; /* frames that the device did not take */
	__u64 src, dst; /* first address: IPv4, or the low half of IPv6 */
	__u32 src_count, dst_count, sport_count, dport_count;
	__u32 src_pos, dst_pos, sport_pos, dport_pos;
	__u32 smac, dmac; /* the low 24 bits of the first, see traffic.MAC.Nth */
	__u32 smac_count, dmac_count, smac_pos, dmac_pos;
	/* What does not change and the checksums cover: of IPv4's header, or of the
	 * signature without a network layer; and of UDP. */
	__u32 sum, udp_sum;
	__u16 sport, dport;
	__u16 len;   /* without FCS */
	__u8 net;    /* where the network layer begins, at most NET_MAX */
	__u8 layer;  /* enum layer */
	__u8 words;  /* of head to write, HEAD_LEAST to HEAD_WORDS */
	__u8 macs;   /* hardware addresses change from frame to frame */
	__u8 mixed;  /* other streams of the port write further into a frame */
	__u8 pad[5];
	__u64 head[HEAD_WORDS]; /* Ethernet to the signature's stream, then zeros */
};

struct tx_port {
	__u32 pos;      /* frames of the plan that were written */
	__u32 plan_len; /* frames in the plan */
	__u64 sent, refused;
	__s32 error; /* of the last frame that was not taken */
	__u32 pending_head, pending_tail;
	__u32 pad;
	__u32 pending[PENDING_MAX]; /* streams of frames in the kernel's bulk queue */
	__u32 plan[PLAN_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tx_stream);
} tx_streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tx_port);
} tx_ports SEC(".maps");

const volatile __u32 port_ifindex;
const volatile __u32 port_netns;

static __always_inline struct tx_port *this_port(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&tx_ports, &zero);
}

static __always_inline __u32 fold64(__u64 v)
{
	v = (v >> 32) + (v & 0xffffffff);
	v = (v >> 32) + (v & 0xffffffff);
	return v;
}

/* checksum returns the Internet checksum (RFC 1071) of a sum of 16 bit words. */
static __always_inline __u16 checksum(__u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
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

/* step_back undoes the last step. */
static __always_inline void step_back(__u32 *pos, __u32 count)
{
	*pos = (*pos ? *pos : count) - 1;
}

#define AT(type, off) (*(type *)(data + (off)))

/* The offsets of write_ipv4 and write_ipv6 are those of the network layer. */
static __always_inline void write_signature(void *data, __u64 mark, __u64 time)
{
	AT(__be64, 6) = bpf_cpu_to_be64(mark);
	AT(__be32, 14) = bpf_htonl(time);
}

/* udp_checksum is that of a frame between these addresses and ports. */
static __always_inline __be16 udp_checksum(struct tx_stream *s, __u64 addresses, __u16 sport,
					   __u16 dport, __u64 mark, __u64 time)
{
	__u16 sum = checksum((__u64)s->udp_sum + addresses + sport + dport + fold64(mark) + (__u32)time);

	return bpf_htons(sum ? sum : 0xffff); /* 0 would mean none */
}

/* Without a network layer, the signature's own checksum follows it. */
static __always_inline void write_ethernet(void *data, struct tx_stream *s, __u64 mark, __u64 time)
{
	write_signature(data, mark, time);
	AT(__be16, SIGNATURE_SIZE) = bpf_htons(checksum((__u64)s->sum + fold64(mark) + (__u32)time));
}

static __always_inline void write_ipv4(void *data, struct tx_stream *s, __u64 mark, __u64 time)
{
	__u32 src = s->src + step(&s->src_pos, s->src_count);
	__u32 dst = s->dst + step(&s->dst_pos, s->dst_count);
	__u16 sport = s->sport + step(&s->sport_pos, s->sport_count);
	__u16 dport = s->dport + step(&s->dport_pos, s->dport_count);

	AT(__be16, 10) = bpf_htons(checksum((__u64)s->sum + src + dst));
	AT(__be32, 12) = bpf_htonl(src);
	AT(__be32, 16) = bpf_htonl(dst);
	AT(__be16, 20) = bpf_htons(sport);
	AT(__be16, 22) = bpf_htons(dport);
	AT(__be16, 26) = udp_checksum(s, (__u64)src + dst, sport, dport, mark, time);
	write_signature(data + IPV4_SIZE + UDP_SIZE, mark, time);
}

static __always_inline void write_ipv6(void *data, struct tx_stream *s, __u64 mark, __u64 time)
{
	__u64 src = s->src + step(&s->src_pos, s->src_count);
	__u64 dst = s->dst + step(&s->dst_pos, s->dst_count);
	__u16 sport = s->sport + step(&s->sport_pos, s->sport_count);
	__u16 dport = s->dport + step(&s->dport_pos, s->dport_count);

	AT(__be64, 16) = bpf_cpu_to_be64(src);
	AT(__be64, 32) = bpf_cpu_to_be64(dst);
	AT(__be16, 40) = bpf_htons(sport);
	AT(__be16, 42) = bpf_htons(dport);
	AT(__be16, 46) = udp_checksum(s, (__u64)fold64(src) + fold64(dst), sport, dport, mark, time);
	write_signature(data + IPV6_SIZE + UDP_SIZE, mark, time);
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

/* Writes the stream's next frame, and says whether it had room. What is written
 * of the head beyond its end are zeros, which the signature overwrites or which
 * the payload is anyway. */
static __always_inline int write_frame(void *data, void *end, struct tx_stream *s)
{
	__u64 time = bpf_ktime_get_ns() & MASK48;
	__u32 at = s->net, words = s->words;
	__u64 mark = s->seq << 16 | time >> 32;
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
		write_ipv4(net, s, mark, time);
		break;
	case LAYER_IPV6:
		if (net + IPV6_SIZE + UDP_SIZE + SIGNATURE_SIZE > end)
			return 0;
		write_ipv6(net, s, mark, time);
		break;
	default:
		if (net + SIGNATURE_SIZE + ETHERNET_CHECK_SIZE > end)
			return 0;
		write_ethernet(net, s, mark, time);
	}
	s->seq++;
	return 1;
}

/* Frames come from a pool and carry whatever was last written into them, so
 * every header byte is written every time. */
static __always_inline int transmit(struct xdp_md *ctx)
{
	struct tx_port *port = this_port();
	struct tx_stream *s;
	void *data, *end;
	__u32 slot, pos;
	int excess;

	if (!port)
		return XDP_DROP;
	pos = port->pos;
	if (pos >= port->plan_len || pos >= PLAN_MAX)
		return XDP_DROP;
	slot = port->plan[pos];
	s = bpf_map_lookup_elem(&tx_streams, &slot);
	if (!s)
		return XDP_DROP;
	/* The run's template is as long as the longest stream's frames. */
	excess = (int)(ctx->data_end - ctx->data) - s->len;
	if (excess > 0 && bpf_xdp_adjust_tail(ctx, -excess))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (!write_frame(data, end, s))
		return XDP_DROP;
	port->pos = pos + 1;
	port->pending[port->pending_head++ % PENDING_MAX] = slot;
	return bpf_redirect(port_ifindex, 0);
}

/* take_back gives a refused frame's number and places to the next frame. The
 * refused frames are the newest of their streams. */
static __always_inline void take_back(struct tx_stream *s)
{
	s->seq--;
	s->refused++;
	if (s->macs) {
		step_back(&s->dmac_pos, s->dmac_count);
		step_back(&s->smac_pos, s->smac_count);
	}
	if (s->layer == LAYER_NONE)
		return;
	step_back(&s->src_pos, s->src_count);
	step_back(&s->dst_pos, s->dst_count);
	step_back(&s->sport_pos, s->sport_count);
	step_back(&s->dport_pos, s->dport_count);
}

static __always_inline void count_refused(struct tx_port *port, __u32 at, int error)
{
	__u32 slot = port->pending[at % PENDING_MAX];
	struct tx_stream *s = bpf_map_lookup_elem(&tx_streams, &slot);

	if (s)
		take_back(s);
	port->refused++;
	port->error = error;
}

static __always_inline int is_port(const struct net_device *dev)
{
	return dev->ifindex == port_ifindex && dev->nd_net.net->ns.inum == port_netns;
}

/* The kernel hands frames to the driver in bulks and in order, and drops those
 * at the end of a bulk that the driver has no room for. This runs right after,
 * on the same CPU, before the next frame is written: a batch of frames is no
 * larger than the bulk queue. */
SEC("tp_btf/xdp_devmap_xmit")
int tx_done(__u64 *args)
{
	struct net_device *to = (void *)args[1];
	int sent = args[2], drops = args[3], error = args[4];
	struct tx_port *port;

	if (!is_port(to))
		return 0;
	port = this_port();
	if (!port || sent < 0 || drops < 0)
		return 0;
	if (port->pending_head - port->pending_tail < sent + drops)
		return 0; /* not our frames */
	port->sent += sent;
	if (drops > 0) {
		for (int i = 0; i < PENDING_MAX && i < drops; i++)
			count_refused(port, port->pending_tail + sent + i, error);
	}
	port->pending_tail += sent + drops;
	return 0;
}

/* A frame that could not even be queued: no driver support, or too long. */
SEC("tp_btf/xdp_redirect_err")
int tx_refused(__u64 *args)
{
	struct net_device *from;
	struct tx_port *port;

	if ((__u32)args[6] != port_ifindex) /* where to */
		return 0;
	from = (void *)args[0];
	if (from->nd_net.net->ns.inum != port_netns)
		return 0;
	port = this_port();
	if (!port || port->pending_head == port->pending_tail)
		return 0;
	port->pending_head--;
	count_refused(port, port->pending_head, (int)args[3]);
	return 0;
}
