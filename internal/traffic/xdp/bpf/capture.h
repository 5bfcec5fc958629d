/* Keeps some of the received test frames of a trial for people to look at. Without it
 * capture_frames is 0, and the verifier removes all of this from the program. */
#pragma once
#include "kernel.h"
#include "rxframe.h"

#define CAPTURE_MAX 2048

const volatile __u32 capture_frames; /* of each kind in a trial */
const volatile __u32 capture_bytes;  /* of each frame, up to CAPTURE_MAX */

enum capture_kind {
	CAPTURE_FIRST,	    /* received first */
	CAPTURE_DAMAGED,    /* not as it was sent */
	CAPTURE_BEFORE_GAP, /* the last of its stream before some are missing */
	CAPTURE_AFTER_GAP,  /* the first of its stream after that */
	CAPTURE_KINDS,
};

/* A frame, as far as it is kept. */
struct captured {
	__u64 time;	/* when it was received */
	__u64 sequence;
	__u64 expected; /* the number that was to come, of a frame after a gap */
	__u32 length;	/* without FCS */
	__u32 kept;
	__u16 stream, epoch;
	__u16 verdict;
	__u16 pad;
	__u8 data[CAPTURE_MAX];
};

/* How many frames of a kind there were in the trial, of which the first are kept. User
 * space clears it. */
struct captures {
	__u32 seen[CAPTURE_KINDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct captures);
} capture_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct captured);
} captured_frames SEC(".maps");

/* The last frame of each stream on this processor. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct captured);
} last_frames SEC(".maps");

/* The place of the next frame of a kind, or 0 when enough are kept. */
static __always_inline struct captured *capture_place(__u32 kind)
{
	__u32 zero = 0, n;
	struct captures *counts = bpf_map_lookup_elem(&capture_counts, &zero);

	if (!counts || counts->seen[kind] >= capture_frames)
		return 0;
	n = __sync_fetch_and_add(&counts->seen[kind], 1);
	if (n >= capture_frames)
		return 0;
	n += kind * capture_frames;
	return bpf_map_lookup_elem(&captured_frames, &n);
}

static __always_inline void capture_into(struct xdp_md *ctx, struct test_frame *f, struct captured *to, int verdict)
{
	__u32 length = bpf_xdp_get_buff_len(ctx);
	__u64 last = less_one(length < capture_bytes ? length : capture_bytes);

	to->time = bpf_ktime_get_ns();
	to->sequence = f->sequence;
	to->expected = 0;
	to->length = length;
	to->stream = f->stream;
	to->epoch = f->epoch;
	to->verdict = verdict;
	if (last >= CAPTURE_MAX || bpf_xdp_load_bytes(ctx, 0, to->data, last + 1))
		to->kept = 0;
	else
		to->kept = last + 1;
}

/* Keeps a frame that is not as it was sent. A function of its own, so that the verifier
 * looks at it once. */
__noinline int capture_damaged(struct xdp_md *ctx, struct test_frame *f, int verdict)
{
	struct captured *to = capture_place(CAPTURE_DAMAGED);

	if (to && f)
		capture_into(ctx, f, to, verdict);
	return 0;
}

/* Keeps a frame that was received, if it is one of the first, or the neighbour of frames
 * that are missing. Expected is the sequence number above the highest before it. */
__noinline int capture_whole(struct xdp_md *ctx, struct test_frame *f, __u32 slot, __u64 expected)
{
	struct captured *last, *to;

	if (!f)
		return 0;
	to = capture_place(CAPTURE_FIRST);
	if (to)
		capture_into(ctx, f, to, FRAME_WHOLE);
	last = bpf_map_lookup_elem(&last_frames, &slot);
	if (!last)
		return 0;
	if (f->sequence > expected) {
		to = capture_place(CAPTURE_AFTER_GAP);
		if (to) {
			capture_into(ctx, f, to, FRAME_WHOLE);
			to->expected = expected;
		}
		if (last->kept && last->epoch == f->epoch && last->stream == f->stream) {
			to = capture_place(CAPTURE_BEFORE_GAP);
			if (to)
				bpf_probe_read_kernel(to, sizeof(*to), last);
		}
	}
	if (f->sequence >= expected)
		capture_into(ctx, f, last, FRAME_WHOLE);
	return 0;
}
