/* What frames hold behind their signature: patterns, from their beginning; or custom bytes
 * and a pattern behind them. The first is zeros. User space writes them. */
#pragma once
#include "kernel.h"

#define FRAME_MAX 9216
#define BODIES_MAX 16
#define PART_SIZE 128 /* bytes that are compared at once */

struct body {
	__u8 bytes[FRAME_MAX + PART_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BODIES_MAX);
	__type(key, __u32);
	__type(value, struct body);
} bodies SEC(".maps");

/* A part of a frame that is compared with a body. */
struct comparison {
	struct xdp_md *ctx;
	__u64 differs;
	__u32 from, to, body;
	__u32 at; /* in the body */
};

/* Masks for the bytes of a part: those from PART_SIZE - n on select its first n bytes. */
static const volatile __u8 covered[2 * PART_SIZE] = {[0 ... PART_SIZE - 1] = 0xff};

static long compare_part(__u64 i, struct comparison *c)
{
	__u64 part[PART_SIZE / 8] = {};
	__u32 key = c->body; /* Linux 6.1 takes no key from the context */
	__u64 last = less_one(c->to - c->from), at = c->at, skip;
	struct body *body = bpf_map_lookup_elem(&bodies, &key);
	const volatile __u64 *mask;
	__u64 *sent;

	barrier_var(at);
	if (last >= FRAME_MAX || at > FRAME_MAX || !body)
		return 1;
	if (last >= PART_SIZE)
		last = PART_SIZE - 1;
	sent = (void *)body->bytes + at;
	skip = PART_SIZE - 1 - last;
	barrier_var(skip); /* a subtraction from a pointer has no bounds */
	mask = (void *)covered + skip;
	barrier_var(sent); /* Linux 6.1 forgets the bounds of a number on the stack, */
	barrier_var(mask); /* but not those of a pointer */
	if (bpf_xdp_load_bytes(c->ctx, c->from, part, last + 1))
		return 1;
#pragma unroll
	for (int n = 0; n < PART_SIZE / 8; n++)
		c->differs |= (part[n] ^ sent[n]) & mask[n];
	c->from += last + 1;
	c->at += last + 1;
	return 0;
}

/* Says whether a frame differs from a body, from from to to. At is where from is in the
 * body. A function of its own, so that the verifier looks at it once. */
__attribute__((noinline)) int differs(struct xdp_md *ctx, __u32 from, __u32 to, __u32 body, __u32 at)
{
	struct comparison c = {.ctx = ctx, .from = from, .to = to, .body = body, .at = at};

	bpf_loop(FRAME_MAX / PART_SIZE + 1, compare_part, &c, 0);
	return c.differs || c.from != c.to;
}

/* Writes a body into a frame from at on, up to its end. */
static __always_inline int write_body(struct xdp_md *ctx, __u32 key, __u32 at, __u32 end)
{
	struct body *body = bpf_map_lookup_elem(&bodies, &key);
	__u64 last = less_one(end - at);

	if (!body || last >= FRAME_MAX)
		return 0;
	return !bpf_xdp_store_bytes(ctx, at, body->bytes, last + 1);
}
