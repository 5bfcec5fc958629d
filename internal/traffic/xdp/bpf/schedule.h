/* What is due when, on all ports that one processor sends on. Streams of a port with
 * the same load form a group and take turns: frame k of a group of n streams at f
 * frames in p ns is due floor(k*p/(n*f)) ns after its beginning. That is whole + part
 * / parts ns after frame k-1, and the parts are gathered, so that no error builds
 * up. User space lays out the groups before a trial and mirrors these functions in
 * lane.go, for ports that it sends on itself; what it wakes up for together it does not
 * hold. */
#pragma once
#include "tx.h"

#define PORTS_MAX 64   /* of one sender */
#define BULK_MAX 16    /* frames in the kernel's bulk queue of a device, DEV_MAP_BULK_SIZE */
#define PENDING_MAX 64 /* above BULK_MAX */
#define RETRY_MAX 64   /* a refused bulk, and what is left of one before */
/* A port that is late catches up with CATCH_UP ns less between two frames than the
 * schedule has, once it is no more than HOLD_MOST ns late: a hiccup of the machine then
 * changes the spacing of one frame, not that of all that it held up. */
#define CATCH_UP 1500
#define HOLD_MOST 20000
#define EAGER_TRIES 16 /* streams that are looked at for one frame */
#define HEAP_LEVELS 17 /* of 65536 groups */
#define REST_TOGETHER 200000 /* ns: what a sender sends at once that sleeps between frames */
#define PACE_SUB_BITS 2
#define PACE_BUCKETS 160 /* up to 2^40 ns, each known within a quarter */

struct tx_group {
	__u64 left; /* frames not handed out yet */
	__u64 whole, part, parts, gathered;
	__u32 first, streams, turn; /* slots of its streams, and whose turn it is */
	__u32 pad;
};

/* Times in ns since the beginning of the trial. */
struct tx_due {
	__u64 due; /* of the next frame */
	__u32 group;
	__u32 pad;
};

struct tx_frame {
	__u64 due; /* NEVER_DUE: as fast as it can */
	__u32 slot;
	/* Not 0: the frame was refused, and its number is in a hole. It gets a new number, but
	 * has the places in ranges of the frame so many before the stream's next one. */
	__u32 replay;
};

#define NEVER_DUE (~0ULL)

struct tx_port {
	__u32 ifindex;
	__u32 user;  /* user space sends on it, or nothing does */
	__u32 heap;  /* where its heap of groups begins in tx_heap */
	__u32 paced; /* groups in the heap */
	__u32 eager, eager_first, eager_turn; /* streams that send as fast as they can */
	__s32 error; /* of the last frame that was not taken; 0 where the ring was full */
	__u64 left;  /* frames not handed out yet, or refused */
	__u64 eager_left;
	__u64 resume; /* nothing before, since the ring was full */
	__u64 hold;   /* for so long after it was due the next frame waits */
	__u64 bound;  /* a frame that leaves later than this after it was due is late */
	__u64 sent, refused;
	/* Not 0: late frames leave no closer than this to each other, in ns, but for those
	 * that are due in so long a time, which may leave together. */
	__u64 catch_up, together;
	__u64 clumped; /* the most frames that may have left together for the sender slept */
	/* How constant the load was. */
	__u64 lag;    /* the longest that a frame left after it was due, in ns */
	__u64 late;   /* frames that were late */
	__u64 last_due, last_lag;
	__u64 row, row_most; /* late frames in a row */
	__u64 clump;    /* the most frames given to the device at once */
	__u64 paces[PACE_BUCKETS]; /* frames by how much their spacing was wrong */
	__u32 pending_head, pending_tail;
	__u32 retry_head, retry_tail;
	__u32 catching; /* resume is that of catch_up */
	__u32 groups;   /* in the heap when the trial began */
	/* Frames of a hole. While the frame behind it is in the bulk queue, alone, the hole may
	 * close again, and no other frame is written. */
	__u32 open_hole;
	__u32 holes; /* that did not close */
	/* The port is the sender's only one, with one group or one stream that sends as fast as
	 * it can, and nothing was refused that is not sent yet. */
	__u32 single;
	__u32 pad;
	struct tx_frame pending[PENDING_MAX]; /* in the kernel's bulk queue */
	struct tx_frame retry[RETRY_MAX];
};

/* Why a run ended. */
enum ending { GOES_ON, ENDED_DONE, ENDED_DEADLINE, ENDED_STOP, ENDED_GAP, ENDED_BEHIND, ENDED_ERROR, ENDED_HOLE };

struct tx_sender {
	__u64 begin;    /* of the trial */
	__u64 deadline; /* since then */
	__u64 gap;      /* no longer than this is waited for a frame */
	__u64 pause;    /* after a full ring */
	__u64 behind;   /* a frame later than this ends the run; 0: none does */
	__u64 held_up;  /* a frame as late as this shows that others use the processor */
	__u64 rest;     /* for so long the sender sleeps between frames after that, */
	__u64 resting;  /* until then */
	__u64 next;     /* when the next frame is due, at an end by GAP */
	__u64 in_time;  /* frames no later than this do not show that the sender is held up */
	__u64 clock;    /* as read for the frame before, while others are due too; else 0 */
	__u32 ports;    /* 0: nothing is sent on this processor */
	__u32 turn;     /* of the port whose fast streams come next, from first on */
	__u32 stop;     /* by user space; read together with ended, so it is at a multiple of 8 */
	enum ending ended;
	__u32 first;    /* of its ports in tx_ports */
	__u32 pad;
	__u64 line[2];  /* senders share no cache line */
};

#define TX_MAP(name, type_) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1); \
		__type(key, __u32); \
		__type(value, type_); \
	} name SEC(".maps")

TX_MAP(tx_senders, struct tx_sender); /* by processor */
TX_MAP(tx_ports, struct tx_port);
TX_MAP(tx_groups, struct tx_group);
TX_MAP(tx_heap, struct tx_due);

/* The interfaces of the ports. A redirect by number costs less than one by the interface's
 * index, which the kernel has to look up for every frame. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} tx_interfaces SEC(".maps");

static __always_inline struct tx_port *sender_port(__u32 n)
{
	return bpf_map_lookup_elem(&tx_ports, &n);
}

static __always_inline struct tx_due *heap_at(struct tx_port *p, __u32 n)
{
	__u32 at = p->heap + n;

	return bpf_map_lookup_elem(&tx_heap, &at);
}

/* Functions that are not static are verified one by one, not once per path that
 * leads to them: those with loops are. */

/* sift_down puts the first entry of a port's heap to its place. */
__noinline int sift_down(__u32 number)
{
	struct tx_port *p = sender_port(number);
	struct tx_due *at, *left, *right;
	__u32 n = 0;

	if (!p)
		return 0;
	at = heap_at(p, 0);
	for (int level = 0; level < HEAP_LEVELS; level++) {
		__u32 child = 2 * n + 1;
		struct tx_due keep;

		if (!at || child >= p->paced)
			return 0;
		left = heap_at(p, child);
		if (!left)
			return 0;
		if (child + 1 < p->paced) {
			right = heap_at(p, child + 1);
			if (right && right->due < left->due) {
				left = right;
				child++;
			}
		}
		if (at->due <= left->due)
			return 0;
		keep = *at;
		*at = *left;
		*left = keep;
		at = left;
		n = child;
	}
	return 0;
}

/* next_due is when the next paced frame of a port may leave. */
static __always_inline __u64 next_due(struct tx_port *p)
{
	struct tx_due *top = heap_at(p, 0);

	return p->paced && top ? top->due + p->hold : NEVER_DUE;
}

/* take_of hands out the next frame of the group that is due first. */
static __always_inline void take_of(struct tx_port *p, struct tx_due *top, struct tx_group *g, struct tx_frame *f, __u64 now)
{
	__u64 lag = now - top->due;

	f->due = top->due;
	if (lag > HOLD_MOST)
		lag = HOLD_MOST;
	p->hold = lag > CATCH_UP ? lag - CATCH_UP : 0;
	f->slot = g->first + g->turn;
	g->turn = g->turn + 1 < g->streams ? g->turn + 1 : 0;
	g->left--;
	p->left--;
	top->due += g->whole;
	g->gathered += g->part;
	if (g->gathered >= g->parts) {
		g->gathered -= g->parts;
		top->due++;
	}
}

/* take_in_time hands out the next frame of a port with one group, if it is due and no later
 * than a time, and is not the last one. */
static __always_inline int take_in_time(struct tx_port *p, __u64 in_time, struct tx_frame *f, __u64 now)
{
	struct tx_due *top = heap_at(p, 0);
	struct tx_group *g;

	if (!top || top->due + p->hold > now || now - top->due > in_time)
		return 0;
	g = bpf_map_lookup_elem(&tx_groups, &top->group);
	if (!g || g->left < 2)
		return 0;
	take_of(p, top, g, f, now);
	return 1;
}

/* take_paced hands out the frame of a port that is due first. */
static __always_inline int take_paced(struct tx_port *p, __u32 number, struct tx_frame *f, __u64 now)
{
	struct tx_due *top = heap_at(p, 0), *last;
	struct tx_group *g;

	if (!top)
		return 0;
	g = bpf_map_lookup_elem(&tx_groups, &top->group);
	if (!g)
		return 0;
	take_of(p, top, g, f, now);
	if (!g->left) {
		p->paced--;
		last = heap_at(p, p->paced);
		if (last)
			*top = *last;
	}
	if (p->paced > 1)
		sift_down(number);
	return 1;
}

/* take_from hands out a frame of a stream that sends as fast as it can. */
static __always_inline int take_from(struct tx_port *p, struct tx_stream *s, __u64 now)
{
	if (!s || !s->left || s->begin > now)
		return 0;
	s->left--;
	p->eager_left--;
	p->left--;
	return 1;
}

/* take_eager hands out a frame of the stream of a port whose turn it is. */
__noinline int take_eager(__u32 number, struct tx_frame *f, __u64 now)
{
	struct tx_port *p = sender_port(number);

	if (!p || !f)
		return 0;
	for (int i = 0; i < EAGER_TRIES; i++) {
		__u32 slot = p->eager_first + p->eager_turn;

		p->eager_turn = p->eager_turn + 1 < p->eager ? p->eager_turn + 1 : 0;
		if (!take_from(p, bpf_map_lookup_elem(&tx_streams, &slot), now))
			continue;
		f->slot = slot;
		f->due = NEVER_DUE;
		return 1;
	}
	return 0;
}

/* take_retry hands out a frame that was refused. */
static __always_inline int take_retry(struct tx_port *p, struct tx_frame *f)
{
	*f = p->retry[p->retry_tail++ % RETRY_MAX];
	p->left--;
	return 1;
}

/* move moves the places of a stream in its ranges back by some frames, and forward by
 * others. */
__noinline int move(__u32 slot, __u32 back, __u32 forward)
{
	struct tx_stream *s = bpf_map_lookup_elem(&tx_streams, &slot);

	if (!s)
		return 0;
	if (back)
		move_back(s, back);
	for (__u32 i = 0; i < PENDING_MAX && i < forward; i++)
		move_on(s);
	return 0;
}

/* take_back gives a frame's number and places in ranges to the next frame. The refused
 * frames are the newest of their streams. */
__noinline int take_back(struct tx_frame *f)
{
	struct tx_stream *s;
	__u32 slot;

	if (!f)
		return 0;
	slot = f->slot; /* Linux 6.1 takes no key from the argument of a function */
	s = bpf_map_lookup_elem(&tx_streams, &slot);
	if (!s)
		return 0;
	s->seq--;
	s->refused++;
	if (!f->replay)
		move_back(s, 1);
	return 0;
}

/* refuse takes back a frame that the device had no room for. */
__noinline int refuse(struct tx_port *p, struct tx_frame *f)
{
	if (!p || !f)
		return 0;
	take_back(f);
	p->refused++;
	p->left++;
	p->retry[p->retry_head++ % RETRY_MAX] = *f;
	return 0;
}

/* catch_up says when the frame after this one may leave, if this one is late. */
static __always_inline void catch_up(struct tx_sender *sender, struct tx_port *p, __u64 due, __u64 now)
{
	__u64 together = p->together;

	p->catching = now > due + p->bound;
	if (!p->catching)
		return;
	if (now < sender->resting && together < REST_TOGETHER) {
		together = REST_TOGETHER;
		p->clumped = REST_TOGETHER / p->catch_up + 1;
	}
	if (p->resume + together < now)
		p->resume = now - together;
	p->resume += p->catch_up;
}

static __always_inline __u32 pace_bucket(__u64 ns)
{
	__u32 shift, i;

	if (ns < 2 << PACE_SUB_BITS)
		return ns;
	shift = log2_64(ns) - PACE_SUB_BITS;
	i = (shift << PACE_SUB_BITS) + (__u32)(ns >> shift);
	return i < PACE_BUCKETS ? i : PACE_BUCKETS - 1;
}

/* count_spacing counts frames of which the spacing was wrong by a time. */
static __always_inline void count_spacing(struct tx_port *p, __u64 ns, __u64 frames)
{
	__u32 bucket = pace_bucket(ns);

	barrier_var(bucket); /* or the compiler drops the check that the verifier needs */
	if (bucket < PACE_BUCKETS)
		p->paces[bucket] += frames;
}

/* record says when a frame left. */
__noinline int record(struct tx_port *p, __u64 due, __u64 now)
{
	__u64 lag = now > due ? now - due : 0;

	if (!p || due == NEVER_DUE)
		return 0;
	if (lag > p->lag)
		p->lag = lag;
	if (lag > p->bound) {
		p->late++;
		p->row++;
		if (p->row > p->row_most)
			p->row_most = p->row;
	} else {
		p->row = 0;
	}
	if (p->last_due != NEVER_DUE)
		count_spacing(p, lag > p->last_lag ? lag - p->last_lag : p->last_lag - lag, 1);
	p->last_due = due;
	p->last_lag = lag;
	return 0;
}
