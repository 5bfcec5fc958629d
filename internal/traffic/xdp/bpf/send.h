/* Sending. One run of BPF_PROG_RUN with live frames lasts for a whole trial: the
 * program is run again and again, sends a frame when one is due, and gives the frame
 * back until then. The kernel hands what a batch sent to the devices at its end. */
#pragma once
#include "left.h"

/* end_run ends the run. Only a signal does, and only programs on tracepoints may
 * send one: tx_refused does when this redirect fails. */
static __always_inline int end_run(struct tx_sender *sender, enum ending why)
{
	sender->ended = why;
	return bpf_redirect(NO_INTERFACE, 0);
}

struct choice {
	__u64 now;
	__u64 due;  /* of the paced port's frame, or when it may leave */
	__u64 next; /* when a frame is due, if none is now */
	__u32 paced, eager; /* ports, or NO_PORT */
	__u32 open; /* ports have frames left, or in the bulk queue */
	__u32 full; /* ports wait for a ring with room */
};

/* consider looks at one port. */
static __always_inline void consider(struct choice *c, __u32 n, struct tx_port *p)
{
	__u64 due;

	if (p->user)
		return;
	if (p->pending_head != p->pending_tail)
		c->open = 1;
	if (!p->left)
		return;
	c->open = 1;
	if (p->open_hole) {
		c->full = 1;
		return;
	}
	if (p->resume > c->now) {
		if (!p->catching)
			c->full = 1;
		else if (p->resume < c->next)
			c->next = p->resume;
		return;
	}
	due = p->retry_head != p->retry_tail ? 0 : next_due(p);
	if (due <= c->now) {
		if (due < c->due) {
			c->due = due;
			c->paced = n;
		}
	} else if (due < c->next) {
		c->next = due;
	}
	if (p->eager_left && c->eager == NO_PORT)
		c->eager = n;
}

/* consider_all looks at all ports, from the one on whose fast streams it is. */
__noinline int consider_all(struct choice *c)
{
	struct tx_sender *sender = this_sender();

	if (!sender || !c)
		return 0;
	for (__u32 i = 0; i < PORTS_MAX; i++) {
		__u32 n = sender->turn + i;
		struct tx_port *p;

		if (i >= sender->ports)
			break;
		if (n >= sender->ports)
			n -= sender->ports;
		n += sender->first;
		p = sender_port(n);
		if (!p)
			break;
		consider(c, n, p);
	}
	return 0;
}

#define ENODEV 19

static __always_inline int redirect_frame(__u32 number, struct tx_port *p, struct tx_frame *f)
{
	p->pending[p->pending_head++ % PENDING_MAX] = *f;
	if (bpf_redirect_map(&tx_interfaces, number, XDP_DROP) == XDP_REDIRECT)
		return XDP_REDIRECT;
	refuse_newest(number, -ENODEV); /* the kernel removes an interface that is deleted */
	return XDP_DROP;
}

static __always_inline int send_frame(struct xdp_md *ctx, __u32 number, struct tx_port *p, struct tx_stream *s, struct tx_frame *f, __u64 time)
{
	__s64 excess; /* a difference of pointers, which must not be cut to 32 bits */

	/* The run's template is as long as the longest stream's frames. */
	excess = (void *)(long)ctx->data_end - (void *)(long)ctx->data;
	barrier_var(excess);
	excess -= s->len;
	if (excess > 0 && bpf_xdp_adjust_tail(ctx, -excess))
		return XDP_DROP;
	if (s->plain) {
		if (!write_plain((void *)(long)ctx->data, (void *)(long)ctx->data_end, s, time))
			return XDP_DROP;
		return redirect_frame(number, p, f);
	}
	if (s->body_at && !write_body(ctx, s->body, s->body_at, s->len))
		return XDP_DROP;
	if (f->replay)
		move(f->slot, f->replay, 0);
	if (!write_frame(ctx, s, time))
		return XDP_DROP;
	if (f->replay)
		move(f->slot, 0, f->replay - 1);
	return redirect_frame(number, p, f);
}

/* read_clock returns the time. Reading the clock costs as much as writing a frame.
 * So frames of a bulk that were due when its first one was written have the time of
 * that: they leave together. */
static __always_inline __u64 read_clock(struct tx_sender *sender)
{
	if (!sender->clock)
		sender->clock = bpf_ktime_get_ns();
	return sender->clock;
}

/* keep_clock forgets the time, unless the port has another frame that was due by then. The
 * frame behind a full bulk queue begins another bulk. */
static __always_inline void keep_clock(struct tx_sender *sender, struct tx_port *p, __u64 now)
{
	if (p->pending_head - p->pending_tail == BULK_MAX - 1 || p->resume > now ||
	    (!p->eager_left && p->retry_head == p->retry_tail && next_due(p) > now))
		sender->clock = 0;
}

/* is_late says whether a frame is later than a time, and no full ring held it up. */
static __always_inline int is_late(struct choice *c, struct tx_port *p, __u64 by)
{
	return c->due && c->now > c->due + by && c->now > p->resume + by;
}

/* take_single hands out the next frame of a port that is single, and its stream. It
 * returns 0 where take_next has to look closer: where none is due or the last one is, and
 * at frames later than a sender that keeps up sends them. */
static __always_inline struct tx_stream *take_single(struct tx_sender *sender, struct tx_port *p, struct tx_frame *f, __u64 now)
{
	struct tx_stream *s;

	if (p->eager) {
		f->slot = p->eager_first;
		f->due = NEVER_DUE;
		s = bpf_map_lookup_elem(&tx_streams, &f->slot);
		if (!take_from(p, s, now))
			return 0;
	} else {
		if (!p->paced || p->resume > now || !take_in_time(p, sender->in_time, f, now))
			return 0;
		if (p->catch_up)
			catch_up(sender, p, f->due, now);
		s = bpf_map_lookup_elem(&tx_streams, &f->slot);
	}
	keep_clock(sender, p, now);
	return s;
}

enum { NOTHING_DUE = -1, RUN_ENDS = -2 };

/* take_next hands out the frame that is due first on all ports. It returns the number of
 * its port, or a negative number. */
__noinline int take_next(struct tx_frame *f, __u64 time)
{
	struct choice c = {.due = NEVER_DUE, .next = NEVER_DUE, .paced = NO_PORT, .eager = NO_PORT};
	struct tx_sender *sender = this_sender();
	struct tx_port *p;

	if (!sender || !f)
		return NOTHING_DUE;
	c.now = time - sender->begin;
	p = sender_port(sender->first);
	if (p && sender->ports == 1) {
		consider(&c, sender->first, p);
		p->single = p->groups + p->eager == 1 && p->retry_head == p->retry_tail && !p->open_hole && !p->user && !c.full;
	} else {
		consider_all(&c);
	}
	if (c.paced != NO_PORT) {
		p = sender_port(c.paced);
		if (!p)
			return NOTHING_DUE;
		if (sender->behind && is_late(&c, p, sender->behind)) {
			sender->behind = 0;
			sender->ended = ENDED_BEHIND;
			return RUN_ENDS;
		}
		if (is_late(&c, p, sender->held_up))
			sender->resting = c.now + sender->rest;
		if (p->retry_head != p->retry_tail)
			take_retry(p, f);
		else if (!take_paced(p, c.paced, f, c.now))
			return NOTHING_DUE;
		if (p->catch_up)
			catch_up(sender, p, f->due, c.now);
		return c.paced;
	}
	if (c.eager != NO_PORT) {
		sender->turn = c.eager - sender->first + 1;
		if (sender->turn >= sender->ports)
			sender->turn = 0;
		return take_eager(c.eager, f, c.now) ? (int)c.eager : NOTHING_DUE;
	}
	if (!c.open) {
		sender->ended = ENDED_DONE;
		return RUN_ENDS;
	}
	if (!c.full && c.next != NEVER_DUE && c.next > c.now + (c.now < sender->resting ? 0 : sender->gap)) {
		sender->next = c.next;
		sender->ended = ENDED_GAP;
		return RUN_ENDS;
	}
	return NOTHING_DUE;
}

/* Frames come from a pool and carry whatever was last written into them, so
 * every header byte is written every time. */
static __always_inline int transmit(struct xdp_md *ctx)
{
	struct tx_sender *sender = this_sender();
	struct tx_frame f = {};
	struct tx_stream *s;
	struct tx_port *p;
	__u64 time, now;
	int number;

	if (!sender)
		return XDP_DROP;
	time = read_clock(sender);
	now = time - sender->begin;
	if (*(__u64 *)&sender->stop || now >= sender->deadline) {
		if (sender->ended)
			return bpf_redirect(NO_INTERFACE, 0); /* the signal has not come yet */
		if (sender->stop)
			return end_run(sender, ENDED_STOP);
		if (time >= sender->begin)
			return end_run(sender, ENDED_DEADLINE);
		sender->clock = 0;
		return XDP_DROP;
	}
	number = sender->first;
	p = sender_port(number);
	s = p && p->single ? take_single(sender, p, &f, now) : 0;
	if (!s) {
		number = take_next(&f, time);
		if (number == RUN_ENDS)
			return bpf_redirect(NO_INTERFACE, 0);
		p = sender_port(number);
		s = bpf_map_lookup_elem(&tx_streams, &f.slot);
		if (number < 0 || !p || !s) {
			sender->clock = 0;
			return XDP_DROP;
		}
		keep_clock(sender, p, now);
	}
	return send_frame(ctx, number, p, s, &f, time);
}
