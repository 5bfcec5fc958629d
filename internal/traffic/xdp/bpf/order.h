/* How far behind reordered frames come: RFC 4737 sections 4.2, 4.3, 4.5 and 5. What is kept
 * changes only when numbers are skipped or a frame is reordered, so that frames in
 * order cost nothing more. */
#pragma once
#include "kernel.h"

#define ARRIVALS 64 /* remembered of each kind, a power of two */
#define ORDER_BUCKETS 32

/* A frame that arrived: how many were received before it, and when. */
struct rx_arrival {
	__u64 number, position, ns;
};

struct rx_order {
	__u64 extent_max, degree_max, late_ns_max;
	__u64 beyond; /* frames of which the extent is more than is known */
	/* Distances between the discontinuities of reordered frames, and one above the
	 * position of the last discontinuity. */
	__u64 gaps, gap_sum, gap_min, discontinuity;
	/* Frames before which numbers were skipped. Their numbers rise: the first one
	 * above that of a reordered frame is the discontinuity that the frame belongs to. */
	__u64 skips;
	/* Reordered frames from bottom to top, without those above whose number another one
	 * arrived later: numbers rise here too, and the last one below that of a frame is the
	 * last arrival below it that was reordered. */
	__u64 bottom, top;
	__u64 forgotten; /* one above the position of the last that fell out below */
	struct rx_arrival skip[ARRIVALS];
	struct rx_arrival reordered[ARRIVALS];
	/* Frames by their extent, and by the largest n for which they are n-reordered: see
	 * traffic.OrderBucket. */
	__u64 extents[ORDER_BUCKETS], degrees[ORDER_BUCKETS];
};

/* See traffic.OrderBucket. */
static __always_inline __u32 order_bucket(__u64 frames)
{
	__u32 i = frames < 8 ? frames : log2_64(frames) + 5;

	return i < ORDER_BUCKETS ? i : ORDER_BUCKETS - 1;
}

/* How many of the arrivals from a place in the ring on have a number below this one.
 * Their numbers rise. Without branches, since the verifier follows all their paths; the
 * highest bit of a difference says which value is the smaller. */
static __always_inline __u32 count_below(struct rx_arrival *ring, __u64 from, __u64 count, __u64 number)
{
	__u64 below = 0, last;

#pragma unroll
	for (__u32 step = ARRIVALS; step; step /= 2) {
		last = below + step - 1;
		below += (((last - count) & (ring[(from + last) & (ARRIVALS - 1)].number - number)) >> 63) * step;
	}
	return below;
}

static __always_inline void remember_arrival(struct rx_arrival *at, __u64 number, __u64 position, __u64 ns)
{
	at->number = number;
	at->position = position;
	at->ns = ns;
}

/* Numbers below this frame's were skipped. */
static __always_inline void count_skip(struct rx_order *o, __u64 number, __u64 position, __u64 ns)
{
	remember_arrival(&o->skip[o->skips & (ARRIVALS - 1)], number, position, ns);
	o->skips++;
}

/* Counts the distance of the discontinuity at a place, one above its position, from the one
 * before. A later frame of the same discontinuity, or of an earlier one, adds none. */
static __always_inline void count_gap(struct rx_order *o, __u64 place)
{
	__u64 gap = place - o->discontinuity;

	if (place <= o->discontinuity)
		return;
	if (o->discontinuity) {
		if (!o->gaps || gap < o->gap_min)
			o->gap_min = gap;
		o->gaps++;
		o->gap_sum += gap;
	}
	o->discontinuity = place;
}

/* Counts a reordered frame. The extent is the distance to the first arrival with a
 * larger number, and n the length of the row of such arrivals just before it. Where one
 * of them is not remembered any more, both are at least what is counted. */
static __always_inline void count_reordered(struct rx_order *o, __u64 number, __u64 position, __u64 ns)
{
	__u64 known = o->skips < ARRIVALS ? o->skips : ARRIVALS, from = o->skips - known;
	__u64 extent, late, n, before = o->forgotten;
	struct rx_arrival *first;
	__u32 below, bucket;

	below = count_below(o->skip, from, known, number);
	first = &o->skip[(from + below) & (ARRIVALS - 1)];
	extent = position - first->position;
	late = ns - first->ns;
	if (from && !below)
		o->beyond++; /* the frame may belong to a discontinuity before */
	else
		count_gap(o, first->position + 1);
	if (extent > o->extent_max)
		o->extent_max = extent;
	if (late > o->late_ns_max)
		o->late_ns_max = late;

	below = count_below(o->reordered, o->bottom, o->top - o->bottom, number);
	if (below)
		before = o->reordered[(o->bottom + below - 1) & (ARRIVALS - 1)].position + 1;
	if (before < first->position)
		before = first->position;
	n = position - before;
	if (n > o->degree_max)
		o->degree_max = n;
	o->top = o->bottom + below;
	if (below == ARRIVALS) {
		o->forgotten = o->reordered[o->bottom & (ARRIVALS - 1)].position + 1;
		o->bottom++;
	}
	remember_arrival(&o->reordered[o->top & (ARRIVALS - 1)], number, position, ns);
	o->top++;

	bucket = order_bucket(extent);
	barrier_var(bucket); /* or the compiler drops the check that the verifier needs */
	if (bucket < ORDER_BUCKETS)
		o->extents[bucket]++;
	bucket = order_bucket(n);
	barrier_var(bucket);
	if (bucket < ORDER_BUCKETS)
		o->degrees[bucket]++;
}
