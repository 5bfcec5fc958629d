/* Sequence numbers that were never sent. A sender writes a frame with its number before
 * it knows whether the device took all frames before it. Where it did not, the numbers
 * of those of the same stream are a hole, and the frames get new numbers. A stream has
 * one hole at most in a trial. The sender writes it before the frame behind it leaves,
 * so receivers on the same machine know it when that frame arrives. */
#pragma once
#include "kernel.h"

struct hole {
	__u64 from, to; /* to is the number behind the hole; 0: there is none */
};

/* By stream ID, for all ports of an engine. User space clears it before a trial. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct hole);
} holes SEC(".maps");

static __always_inline struct hole *hole_of(__u32 stream)
{
	return bpf_map_lookup_elem(&holes, &stream);
}

/* place_of returns how many frames were sent before the one with this number. */
static __always_inline __u64 place_of(struct hole *h, __u64 number)
{
	return number < h->to ? number : number - (h->to - h->from);
}

/* follows returns whether a number is the next one that was sent after those below
 * next. */
static __always_inline int follows(struct hole *h, __u64 number, __u64 next)
{
	return number == next || (number == h->to && next == h->from);
}
