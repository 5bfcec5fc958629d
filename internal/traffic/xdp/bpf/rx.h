/* Reception: test frames are counted and dropped, everything else passes to the
 * kernel, so that ARP, ND and routing daemons work on the port. */
#pragma once
#include "kernel.h"
#include "signature.h"

/* Sequence numbers that are remembered, in blocks of 32. An entry holds above
 * which of the blocks that share its place it is, and below one bit per frame,
 * so that nothing has to be cleared when the window moves. */
#define WINDOW_BLOCKS 512

/* Latency buckets, see traffic.BucketIndex. */
#define SUB_BITS 6
#define SUB (1 << SUB_BITS)
#define BUCKETS ((40 - SUB_BITS) * SUB + SUB)

/* One stream as received on this port. The lock makes it exact when a NIC
 * spreads a stream over several CPUs. */
struct rx_flow {
	struct bpf_spin_lock lock;
	__u16 epoch; /* frames of other trials are stale */
	__u16 timed; /* the sender shares our clock */
	__u64 trial; /* unlike the epoch it never comes again */
	__u64 next;  /* one above the highest sequence number seen */
	__u64 sequel; /* one above the last sequence number received */
	__u64 gap_end; /* the frame before which numbers were skipped last; 0: none */
	__u64 received, duplicate, reordered, out_of_sequence;
	__u64 late; /* older than the window: received or duplicate, unknown */
	__u64 first_ns, last_ns; /* when the first and the last frame arrived */
	__u64 latency_min, latency_max, latency_sum, latency_last;
	__u64 jitter_max, jitter_sum;
	__u64 window[WINDOW_BLOCKS];
	__u64 buckets[BUCKETS];
};

struct rx_port {
	__u64 stale;   /* test frames of an earlier trial */
	__u64 unknown; /* test frames of streams not expected here */
	__u64 trial;    /* the last in which this processor received a frame */
	__u64 received; /* frames in it, for samples while it runs */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_flow);
} rx_flows SEC(".maps");

/* Stream ID to index in rx_flows plus one. 8 bytes, as the kernel rounds an
 * array's values up to that in the memory that user space maps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u64);
} rx_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_port);
} rx_ports SEC(".maps");

static __always_inline __u32 log2_64(__u64 v)
{
	__u32 r = 0;

	if (v >> 32) { v >>= 32; r += 32; }
	if (v >> 16) { v >>= 16; r += 16; }
	if (v >> 8) { v >>= 8; r += 8; }
	if (v >> 4) { v >>= 4; r += 4; }
	if (v >> 2) { v >>= 2; r += 2; }
	return r + (v >> 1);
}

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 shift, i;

	if (ns < 2 * SUB)
		return ns;
	shift = log2_64(ns) - SUB_BITS;
	i = shift * SUB + (__u32)(ns >> shift);
	return i < BUCKETS ? i : BUCKETS - 1;
}

/* Called with the flow locked. */
static __always_inline void count_latency(struct rx_flow *f, __u64 latency, __u32 bucket)
{
	__u64 jitter = latency > f->latency_last ? latency - f->latency_last
						 : f->latency_last - latency;

	if (!f->received) {
		f->latency_min = latency;
		jitter = 0;
	}
	if (latency < f->latency_min)
		f->latency_min = latency;
	if (latency > f->latency_max)
		f->latency_max = latency;
	if (jitter > f->jitter_max)
		f->jitter_max = jitter;
	f->latency_sum += latency;
	f->jitter_sum += jitter;
	f->latency_last = latency;
	barrier_var(bucket); /* or the compiler drops the check that the verifier needs */
	if (bucket < BUCKETS)
		f->buckets[bucket]++;
}

/* Called with the flow locked. RFC 4737: a frame is reordered when its number
 * is below the highest seen before. In the older count it is out of sequence when
 * its number does not follow that of the frame before, which also is so after a
 * loss. Copies take no part. */
static __always_inline void count_frame(struct rx_flow *f, __u64 seq, __u64 now, __u64 latency, __u32 bucket)
{
	__u64 block = seq / 32, newest = f->next ? (f->next - 1) / 32 : 0;
	__u32 bit = 1U << (seq % 32);
	__u64 entry, turn = (block / WINDOW_BLOCKS) & 0xffffffff;

	if (block + WINDOW_BLOCKS <= newest) {
		f->late++;
		return;
	}
	entry = f->window[block % WINDOW_BLOCKS];
	if (entry >> 32 != turn)
		entry = turn << 32;
	if (entry & bit) {
		f->duplicate++;
		return;
	}
	f->window[block % WINDOW_BLOCKS] = entry | bit;
	if (seq != f->sequel)
		f->out_of_sequence++;
	f->sequel = seq + 1;
	if (seq < f->next) {
		f->reordered++;
	} else {
		if (seq > f->next)
			f->gap_end = seq;
		f->next = seq + 1;
	}
	if (f->timed)
		count_latency(f, latency, bucket);
	if (!f->received)
		f->first_ns = now;
	if (now > f->last_ns)
		f->last_ns = now;
	f->received++;
}

/* What a test frame says of itself. */
struct signature {
	__u64 sequence, time;
	__u16 epoch, stream;
};

static __always_inline int read_signature(void *sig, void *end, struct signature *to)
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

/* IPv4 options and IPv6 extension headers never occur in test frames. */
static __always_inline int read_ipv4(void *data, void *end, struct signature *to)
{
	if (data + IPV4_SIZE > end || AT(__u8, 0) != 0x45 || AT(__u8, 9) != PROTO_UDP)
		return 0;
	return read_signature(data + IPV4_SIZE + UDP_SIZE, end, to);
}

static __always_inline int read_ipv6(void *data, void *end, struct signature *to)
{
	if (data + IPV6_SIZE > end || AT(__u8, 6) != PROTO_UDP)
		return 0;
	return read_signature(data + IPV6_SIZE + UDP_SIZE, end, to);
}

/* Nothing but its first bits says what follows a label stack; those of the
 * signature's magic are neither version of IP. */
static __always_inline int read_labelled(void *data, void *end, struct signature *to)
{
	for (int i = 0; i < LABELS_MAX; i++) {
		if (data + LABEL_SIZE + 1 > end)
			return 0;
		if (!(AT(__u8, 2) & 1)) { /* not the bottom of the stack */
			data += LABEL_SIZE;
			continue;
		}
		switch (AT(__u8, LABEL_SIZE) >> 4) {
		case 4:
			return read_ipv4(data + LABEL_SIZE, end, to);
		case 6:
			return read_ipv6(data + LABEL_SIZE, end, to);
		}
		return read_signature(data + LABEL_SIZE, end, to);
	}
	return 0;
}

static __always_inline int read_network(void *data, void *end, __be16 type, struct signature *to)
{
	switch (type) {
	case ETH_IPV4:
		return read_ipv4(data, end, to);
	case ETH_IPV6:
		return read_ipv6(data, end, to);
	case ETH_TEST:
		return read_signature(data, end, to);
	case ETH_MPLS:
		return read_labelled(data, end, to);
	}
	return 0;
}

/* Says whether a frame is a test frame. It may have gained or lost a tag on its
 * way, and labels. */
static __always_inline int is_test_frame(void *data, void *end, struct signature *to)
{
	if (data + ETH_SIZE + VLAN_SIZE > end)
		return 0;
	if (AT(__be16, 12) == ETH_VLAN)
		return read_network(data + ETH_SIZE + VLAN_SIZE, end, AT(__be16, 16), to);
	return read_network(data + ETH_SIZE, end, AT(__be16, 12), to);
}

static __always_inline int count(struct signature *sig)
{
	__u64 now = bpf_ktime_get_ns(), latency = (now - sig->time) & MASK48, trial = 0;
	__u32 stream = sig->stream, zero = 0, slot, bucket, stale = 0;
	struct rx_flow *f = 0;
	struct rx_port *port;
	__u64 *index = bpf_map_lookup_elem(&rx_index, &stream);

	if (latency >> 47)
		latency = 0; /* a clock that stands before ours */
	bucket = bucket_of(latency);
	if (index && *index) {
		slot = *index - 1;
		f = bpf_map_lookup_elem(&rx_flows, &slot);
	}
	port = bpf_map_lookup_elem(&rx_ports, &zero);
	if (!port)
		return XDP_DROP;
	if (!f) {
		port->unknown++;
		return XDP_DROP;
	}
	bpf_spin_lock(&f->lock);
	stale = f->epoch != sig->epoch;
	if (!stale) {
		__u64 before = f->received;

		count_frame(f, sig->sequence, now, latency, bucket);
		if (f->received != before)
			trial = f->trial;
	}
	bpf_spin_unlock(&f->lock);
	if (stale)
		port->stale++;
	if (!trial)
		return XDP_DROP;
	if (port->trial != trial) {
		port->trial = trial;
		port->received = 0;
	}
	port->received++;
	return XDP_DROP;
}

static __always_inline int receive(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct signature sig;

	return is_test_frame(data, end, &sig) ? count(&sig) : XDP_PASS;
}
