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

static long compare_part(__u64 i, struct comparison *c)
{
	__u64 part[PART_SIZE / 8] = {};
	__u32 left = c->to - c->from, at = c->at;
	struct body *body = bpf_map_lookup_elem(&bodies, &c->body);

	if (!left || left > FRAME_MAX || at > FRAME_MAX || !body)
		return 1;
	if (left > sizeof(part))
		left = sizeof(part);
	if (bpf_xdp_load_bytes(c->ctx, c->from, part, left))
		return 1;
	for (int n = 0; n < PART_SIZE / 8; n++) {
		__u64 other = part[n] ^ *(__u64 *)(body->bytes + at + 8 * n);

		if (left < 8 * (n + 1))
			other = left > 8 * n ? other << (64 - 8 * (left - 8 * n)) : 0;
		c->differs |= other;
	}
	c->from += left;
	c->at += left;
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
	__u32 left = end - at;

	if (!body || !left || left > FRAME_MAX)
		return 0;
	return !bpf_xdp_store_bytes(ctx, at, body->bytes, left);
}
