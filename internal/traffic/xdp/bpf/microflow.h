/* Counts of each microflow, which is one combination of addresses and ports in the ranges of
 * a stream. It follows from the frame's number, which the signature has and its checksum
 * covers: a device that changes addresses does not change it. Frames in order have
 * neighboring records. */
#pragma once
#include "hole.h"
#include "kernel.h"

/* traffic.MicroflowRecord */
struct rx_microflow {
	__u32 received; /* modulo 2^32 */
	__u32 last;     /* one above the place of the last one received; 0: none was */
};

/* Of all streams of the port that are tracked, one after the other. User space clears
 * both before a trial. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_microflow);
} rx_microflows SEC(".maps");

/* When the first frame of each arrived, of the streams that are tracked with times. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} rx_firsts SEC(".maps");

/* What is tracked of a stream. User space writes it. */
struct tracked {
	__u32 microflows; /* 0: nothing */
	__u32 first;      /* where they begin in rx_microflows */
	__u32 times;      /* one above where they begin in rx_firsts; 0: no times */
	__u32 pad;
};

/* range_place returns the place in the ranges of a frame by its number. The frames whose
 * numbers are in a hole were sent again with the places that they had, right after the
 * frame behind the hole. */
static __always_inline __u64 range_place(struct hole *h, __u64 number)
{
	__u64 size, again;

	if (number <= h->to)
		return number;
	size = h->to - h->from;
	again = number - h->to - 1;
	return again < size ? h->from + again : number - size;
}

/* record_of returns the record of a frame in the lower half, counting from that of the stream's
 * first microflow, and one above the frame's place in the upper half. A function of its own,
 * so that the verifier looks at it once. */
__noinline __u64 record_of(struct hole *h, __u64 number, __u32 microflows)
{
	__u64 place;
	__u32 at;

	if (!h || !microflows)
		return 0;
	place = range_place(h, number);
	/* A division of 32 bits costs less. */
	at = place >> 32 ? place % microflows : (__u32)place % microflows;
	return (place < ~0U ? place + 1 : ~0U) << 32 | at;
}

/* Counts a frame, and says whether it is the first of its microflow. Called with the flow
 * locked. */
static __always_inline int count_record(struct rx_microflow *record, __u64 at)
{
	int first = !record->last;

	record->received++;
	record->last = at >> 32;
	return first;
}

/* Keeps when a microflow's first frame arrived. A frame of an earlier trial may do so after
 * user space cleared the times; they count only where the record has a frame. */
static __always_inline void keep_first(struct tracked *t, __u64 at, __u64 now)
{
	__u32 key = t->times - 1 + (__u32)at;
	__u64 *first = bpf_map_lookup_elem(&rx_firsts, &key);

	if (first)
		*first = now;
}
