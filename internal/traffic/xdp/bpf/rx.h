/* Reception: test frames are checked, counted and dropped, everything else passes to
 * the kernel, so that ARP, ND and routing daemons work on the port. */
#pragma once
#include "capture.h"
#include "cnp.h"
#include "hole.h"
#include "kernel.h"
#include "microflow.h"
#include "order.h"
#include "pause.h"
#include "rxframe.h"
#include "tunnel.h"
#include "signature.h"

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
	__u64 overtaken; /* reordered ones behind a frame that came in by another way */
	__u32 way;       /* the queue and the CPU of the highest number seen */
	__u32 pad;
	__u64 congested; /* received with the mark of congestion, CE */
	__u64 late; /* older than the window: received or duplicate, unknown */
	__u64 first_ns, last_ns; /* when the first and the last frame arrived */
	__u64 silent_from, silent_to; /* two arrivals with the longest time between */
	__u64 latency_min, latency_max, latency_sum, latency_last;
	__u64 jitter_max, jitter_sum;
	__u64 buckets[BUCKETS];
	struct rx_order order;
};

/* What is expected of a stream in a trial. User space writes it. */
struct rx_stream {
	__u64 intended; /* frames: no sequence number reaches it, without those of a hole */
	__u32 window;   /* where the stream's part of rx_window begins */
	__u32 mask;     /* blocks in it less one, a power of two less one */
	__u16 shift;    /* blocks in it, as a power of two */
	__u16 answers;  /* 1: marked frames are answered, see rx_notify */
	__u16 pad[2];
	struct payload payload;
	struct tracked tracked;
};

/* The trial in hand. User space writes it. */
struct rx_trial {
	__u16 epoch;
	__u16 pad[3];
};

struct rx_port {
	__u64 stale;   /* test frames of an earlier trial */
	__u64 unknown; /* test frames of streams not expected here */
	__u64 truncated, corrupted, fragmented; /* see enum verdict */
	__u64 trial;    /* the last in which this processor received a frame */
	__u64 received; /* frames in it, for samples while it runs */
	struct rx_pauses pauses;
	__u64 notified; /* congestion notification packets */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_flow);
} rx_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_stream);
} rx_streams SEC(".maps");

/* Which sequence numbers were seen, in blocks of 32 for each stream in turn. An
 * entry holds above the epoch, and which of the blocks that share its place it is,
 * and below one bit per frame, so that nothing has to be cleared when the window
 * moves. User space clears it before a trial. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} rx_window SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_trial);
} rx_trials SEC(".maps");

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

/* A frame's place in the window. */
struct place {
	__u64 *entry;
	__u32 tag, bit;
};

/* Marks a frame as seen, and says whether it was not before. Fresh says that no frame
 * of its block can have been seen. Called with the flow locked. */
static __always_inline int mark_seen(struct place *at, int fresh)
{
	__u64 entry = *at->entry;

	if (fresh || entry >> 32 != at->tag)
		entry = (__u64)at->tag << 32;
	*at->entry = entry | at->bit;
	return !(entry & at->bit);
}

/* Called with the flow locked. RFC 4737: a frame is reordered when its number
 * is below the highest seen before. In the older count it is out of sequence when
 * its number does not follow that of the frame before, which also is so after a
 * loss. Copies take no part. Numbers of a hole are not skipped. */
static __always_inline void count_frame(struct rx_flow *f, struct hole *hole, __u64 seq, __u64 blocks, struct place *at,
					__u64 now, __u64 latency, __u32 bucket, __u32 way)
{
	__u64 block = seq / 32, newest = f->next ? (f->next - 1) / 32 : 0;

	if (block + blocks <= newest) {
		f->late++;
		return;
	}
	if (!mark_seen(at, !f->next || block > newest)) {
		f->duplicate++;
		return;
	}
	if (!follows(hole, seq, f->sequel))
		f->out_of_sequence++;
	f->sequel = seq + 1;
	if (seq < f->next) {
		f->reordered++;
		if (f->way != way)
			f->overtaken++;
		count_reordered(&f->order, seq, f->received, now);
	} else {
		if (!follows(hole, seq, f->next)) {
			f->gap_end = seq;
			count_skip(&f->order, seq, f->received, now);
		}
		f->next = seq + 1;
		f->way = way;
	}
	if (f->timed)
		count_latency(f, latency, bucket);
	if (!f->received)
		f->first_ns = now;
	else if (now > f->last_ns && now - f->last_ns > f->silent_to - f->silent_from) {
		f->silent_from = f->last_ns;
		f->silent_to = now;
	}
	if (now > f->last_ns)
		f->last_ns = now;
	f->received++;
}

/* Finds the place of a frame, which the program may look up only while it holds no
 * lock. */
static __always_inline int find_place(struct rx_stream *s, struct test_frame *frame, struct place *to)
{
	__u64 block = frame->sequence / 32;
	__u32 key = s->window + ((__u32)block & s->mask);

	to->entry = bpf_map_lookup_elem(&rx_window, &key);
	to->tag = (__u32)frame->epoch << 16 | (__u16)(block >> s->shift);
	to->bit = 1U << (frame->sequence % 32);
	return to->entry != 0;
}

/* The way of a frame into the tester: its receive queue, and the CPU that took it from
 * there. Frames of different ways may overtake each other in the tester. */
static __always_inline __u32 way_of(struct xdp_md *ctx)
{
	return ctx->rx_queue_index << 16 | (__u16)bpf_get_smp_processor_id();
}

/* Counts a frame that is whole, and returns the number of the trial in which it was
 * received, or 0. */
static __always_inline __u64 count_whole(struct rx_port *port, struct rx_flow *f, struct rx_stream *s,
					 struct hole *hole, struct test_frame *frame, __u32 way)
{
	__u64 now = bpf_ktime_get_ns(), latency = (now - frame->time) & MASK48, trial = 0, before, at_record = 0;
	struct rx_microflow *record = 0;
	__u32 bucket, stale, key;
	struct place at;
	int first = 0;

	if (latency >> 47)
		latency = 0; /* a clock that stands before ours */
	bucket = bucket_of(latency);
	if (!find_place(s, frame, &at))
		return 0;
	if (s->tracked.microflows) {
		at_record = record_of(hole, frame->sequence, s->tracked.microflows);
		key = s->tracked.first + (__u32)at_record;
		record = bpf_map_lookup_elem(&rx_microflows, &key);
	}
	bpf_spin_lock(&f->lock);
	stale = f->epoch != frame->epoch;
	if (!stale) {
		before = f->received;
		count_frame(f, hole, frame->sequence, (__u64)s->mask + 1, &at, now, latency, bucket, way);
		if (f->received != before) {
			trial = f->trial;
			f->congested += frame->congested;
			if (record)
				first = count_record(record, at_record);
		}
	}
	bpf_spin_unlock(&f->lock);
	if (stale)
		port->stale++;
	if (first && s->tracked.times)
		keep_first(&s->tracked, at_record, now);
	return trial;
}

static __always_inline int count_damaged(struct xdp_md *ctx, struct test_frame *frame, struct rx_port *port, int verdict)
{
	if (capture_frames)
		capture_damaged(ctx, frame, verdict);
	switch (verdict) {
	case FRAME_TRUNCATED:
		port->truncated++;
		break;
	case FRAME_FRAGMENTED:
		port->fragmented++;
		break;
	default:
		port->corrupted++;
	}
	return XDP_DROP;
}

/* The slot of a stream plus one, or 0 for one that the port does not expect. */
static __always_inline __u32 slot_of(__u16 stream)
{
	__u32 key = stream;
	__u64 *index = bpf_map_lookup_elem(&rx_index, &key);

	return index ? *index : 0;
}

static __always_inline struct rx_port *rx_port(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&rx_ports, &zero);
}

/* Counts a test frame. */
static __always_inline int count(struct xdp_md *ctx, struct test_frame *frame, int verdict)
{
	struct rx_port *port = rx_port();
	__u32 slot = slot_of(frame->stream);
	struct rx_stream *s;
	struct rx_flow *f;
	struct hole *hole;
	__u64 trial, expected;

	if (!port)
		return XDP_DROP;
	if (verdict != FRAME_WHOLE)
		return count_damaged(ctx, frame, port, verdict);
	slot--;
	s = bpf_map_lookup_elem(&rx_streams, &slot);
	f = bpf_map_lookup_elem(&rx_flows, &slot);
	hole = hole_of(frame->stream);
	if (!s || !f || !hole) {
		port->unknown++;
		return XDP_DROP;
	}
	if (f->epoch == frame->epoch) { /* earlier trials may have had other sizes */
		verdict = check_payload(ctx, frame, &s->payload);
		if (verdict == FRAME_WHOLE && place_of(hole, frame->sequence) >= s->intended)
			verdict = FRAME_CORRUPTED;
		if (verdict != FRAME_WHOLE)
			return count_damaged(ctx, frame, port, verdict);
	}
	expected = f->next;
	trial = count_whole(port, f, s, hole, frame, way_of(ctx));
	if (!trial)
		return XDP_DROP;
	if (capture_frames)
		capture_whole(ctx, frame, slot, follows(hole, frame->sequence, expected) ? frame->sequence : expected);
	if (port->trial != trial) {
		port->trial = trial;
		port->received = 0;
	}
	port->received++;
	return frame->congested & s->answers ? answer_mark(ctx, frame->net, slot) : XDP_DROP;
}

/* Takes frames of flow control and congestion notification packets from the kernel, as a card does;
 * all others pass. A function of its own, so that the verifier looks at it once. */
__noinline int take_foreign(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct rx_port *port = rx_port();

	if (!port)
		return XDP_PASS;
	if (count_pause(data, end, &port->pauses))
		return XDP_DROP;
	if (!receives_cnp(data, end))
		return XDP_PASS;
	port->notified++;
	return XDP_DROP;
}

/* Looks again at a frame that seems to be foreign. */
static __always_inline int look_again(void *data, void *end, struct test_frame *frame)
{
	struct rx_trial *trial;
	__u32 zero = 0;
	int verdict;

	trial = bpf_map_lookup_elem(&rx_trials, &zero);
	if (!trial)
		return FRAME_FOREIGN;
	verdict = read_disfigured(data, end, trial->epoch, frame);
	return verdict != FRAME_FOREIGN && slot_of(frame->stream) ? verdict : FRAME_FOREIGN;
}

static __always_inline int receive(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct test_frame frame = {};
	int verdict = read_frame(data, end, &frame);

	if (verdict == FRAME_FOREIGN)
		verdict = read_behind(ctx, &frame);
	if (verdict == FRAME_FOREIGN) {
		verdict = read_custom(ctx, &frame);
		if (verdict == FRAME_CORRUPTED && !slot_of(frame.stream))
			verdict = FRAME_FOREIGN;
	}
	if (verdict == FRAME_FOREIGN)
		verdict = look_again(data, end, &frame);
	if (verdict == FRAME_FOREIGN)
		return take_foreign(ctx);
	return count(ctx, &frame, verdict);
}
