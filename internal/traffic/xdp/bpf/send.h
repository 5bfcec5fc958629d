/* Sending. One run of BPF_PROG_RUN with live frames lasts for a whole trial: the
 * program is run again and again, sends a frame when one is due, and gives the frame
 * back until then. The kernel hands what a batch sent to the devices at its end. */
#pragma once
#include "schedule.h"

/* An interface that does not exist: a redirect to it fails, which tx_refused sees. */
#define NO_INTERFACE 0x7fffffff
#define SIGURG 23

const volatile __u32 port_ifindex;
const volatile __u32 port_netns;

static __always_inline struct tx_sender *this_sender(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&tx_senders, &zero);
}

/* end_run ends the run. Only a signal does, and only programs on tracepoints may
 * send one: tx_refused does when this redirect fails. */
static __always_inline int end_run(struct tx_sender *sender, enum ending why)
{
	sender->ended = why;
	return bpf_redirect(NO_INTERFACE, 0);
}

#define NO_PORT (~0U)

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
		p = sender_port(n);
		if (!p)
			break;
		consider(c, n, p);
	}
	return 0;
}

static __always_inline int send_frame(struct xdp_md *ctx, struct tx_port *p, struct tx_frame *f, __u64 time)
{
	struct tx_stream *s = bpf_map_lookup_elem(&tx_streams, &f->slot);
	__s64 excess; /* a difference of pointers, which must not be cut to 32 bits */

	if (!s)
		return XDP_DROP;
	/* The run's template is as long as the longest stream's frames. */
	excess = (void *)(long)ctx->data_end - (void *)(long)ctx->data;
	barrier_var(excess);
	excess -= s->len;
	if (excess > 0 && bpf_xdp_adjust_tail(ctx, -excess))
		return XDP_DROP;
	if (s->body_at && !write_body(ctx, s->body, s->body_at, s->len))
		return XDP_DROP;
	if (!write_frame((void *)(long)ctx->data, (void *)(long)ctx->data_end, s, time))
		return XDP_DROP;
	p->pending[p->pending_head++ % PENDING_MAX] = *f;
	return bpf_redirect(p->ifindex, 0);
}

/* read_clock returns the time. Reading the clock costs as much as writing a frame.
 * So frames of a batch that were due when its first one was written have the time of
 * that: they leave together, at the end of the batch. */
static __always_inline __u64 read_clock(struct tx_sender *sender)
{
	__u64 time = sender->clock;

	if (!time)
		return bpf_ktime_get_ns();
	sender->clock = 0;
	return time;
}

/* keep_clock keeps the time for the next frame, if a port has another that is due. */
static __always_inline void keep_clock(struct tx_sender *sender, struct tx_port *p, __u64 time)
{
	if (p->resume > time - sender->begin)
		return;
	if (p->eager_left || p->retry_head != p->retry_tail || next_due(p) <= time - sender->begin)
		sender->clock = time;
}

/* is_late says whether a frame is later than a time, and no full ring held it up. */
static __always_inline int is_late(struct choice *c, struct tx_port *p, __u64 by)
{
	return c->due && c->now > c->due + by && c->now > p->resume + by;
}

/* Frames come from a pool and carry whatever was last written into them, so
 * every header byte is written every time. */
static __always_inline int transmit(struct xdp_md *ctx)
{
	struct tx_sender *sender = this_sender();
	struct choice c = {.due = NEVER_DUE, .next = NEVER_DUE, .paced = NO_PORT, .eager = NO_PORT};
	struct tx_frame f = {};
	struct tx_port *p;
	__u64 time;

	if (!sender)
		return XDP_DROP;
	time = read_clock(sender);
	if (sender->ended)
		return bpf_redirect(NO_INTERFACE, 0); /* the signal has not come yet */
	if (sender->stop)
		return end_run(sender, ENDED_STOP);
	if (time < sender->begin)
		return XDP_DROP;
	c.now = time - sender->begin;
	if (c.now >= sender->deadline)
		return end_run(sender, ENDED_DEADLINE);
	p = sender_port(0);
	if (p && sender->ports == 1)
		consider(&c, 0, p);
	else
		consider_all(&c);
	if (c.paced != NO_PORT) {
		p = sender_port(c.paced);
		if (!p)
			return XDP_DROP;
		if (sender->behind && is_late(&c, p, sender->behind)) {
			sender->behind = 0;
			return end_run(sender, ENDED_BEHIND);
		}
		if (is_late(&c, p, sender->held_up))
			sender->resting = c.now + sender->rest;
		if (p->retry_head != p->retry_tail)
			take_retry(p, &f);
		else if (!take_paced(p, c.paced, &f, c.now))
			return XDP_DROP;
		if (p->catch_up)
			catch_up(sender, p, f.due, c.now);
		keep_clock(sender, p, time);
		return send_frame(ctx, p, &f, time);
	}
	if (c.eager != NO_PORT) {
		sender->turn = c.eager + 1 < sender->ports ? c.eager + 1 : 0;
		p = sender_port(c.eager);
		if (!p || !take_eager(c.eager, &f, c.now))
			return XDP_DROP;
		keep_clock(sender, p, time);
		return send_frame(ctx, p, &f, time);
	}
	if (!c.open)
		return end_run(sender, ENDED_DONE);
	if (!c.full && c.next != NEVER_DUE && c.next > c.now + (c.now < sender->resting ? 0 : sender->gap)) {
		sender->next = c.next;
		return end_run(sender, ENDED_GAP);
	}
	return XDP_DROP;
}

/* The sender whose run this processor is in, or none. */
static __always_inline struct tx_sender *running_sender(void)
{
	struct tx_sender *sender = this_sender();

	if (!sender || !sender->ports || sender->cpu != bpf_get_smp_processor_id())
		return 0;
	return sender;
}

/* port_of returns the number of the port that an interface is, or NO_PORT. */
__noinline int port_of(__u32 ifindex)
{
	struct tx_sender *sender = this_sender();

	if (!sender)
		return NO_PORT;
	for (__u32 i = 0; i < PORTS_MAX; i++) {
		struct tx_port *p;

		if (i >= sender->ports)
			break;
		p = sender_port(i);
		if (p && p->ifindex == ifindex)
			return i;
	}
	return NO_PORT;
}

/* count_sent records the oldest frames of the bulk queue as sent. */
__noinline int count_sent(__u32 number, __u32 sent, __u64 now)
{
	struct tx_port *p = sender_port(number);

	if (!p)
		return 0;
	p->sent += sent;
	if (sent > p->clump)
		p->clump = sent;
	for (__u32 i = 0; i < PENDING_MAX && i < sent; i++)
		record(p, p->pending[p->pending_tail++ % PENDING_MAX].due, now);
	return 0;
}

/* count_refused takes back the oldest frames of the bulk queue. */
__noinline int count_refused(__u32 number, __u32 drops)
{
	struct tx_port *p = sender_port(number);

	if (!p)
		return 0;
	for (__u32 i = 0; i < PENDING_MAX && i < drops; i++)
		refuse(p, &p->pending[p->pending_tail++ % PENDING_MAX]);
	return 0;
}

static __always_inline int is_ours(const struct net_device *dev)
{
	return dev->nd_net.net->ns.inum == port_netns;
}

/* The kernel hands frames to the driver in bulks and in order, and drops those
 * at the end of a bulk that the driver has no room for. This runs right after,
 * on the same CPU, before the next frame is written: a batch of frames is no
 * larger than the bulk queue. */
SEC("tp_btf/xdp_devmap_xmit")
int tx_done(__u64 *args)
{
	struct net_device *to = (void *)args[1];
	int sent = args[2], drops = args[3], error = args[4];
	struct tx_sender *sender = running_sender();
	struct tx_port *p;
	__u32 number;
	__u64 now;

	if (!sender || !is_ours(to))
		return 0;
	number = port_of(to->ifindex);
	p = sender_port(number);
	if (!p || sent < 0 || drops < 0 || p->pending_head - p->pending_tail < sent + drops)
		return 0; /* not our frames */
	sender->clock = 0; /* the batch has ended */
	now = bpf_ktime_get_ns() - sender->begin;
	count_sent(number, sent, now);
	if (!drops)
		return 0;
	count_refused(number, drops);
	p->resume = now + sender->pause;
	p->catching = 0;
	if (error) {
		p->error = error;
		p->user = 1;
		sender->ended = ENDED_ERROR;
	}
	return 0;
}

/* A frame that could not even be queued: no driver support, or too long. Or the run
 * has come to its end. */
SEC("tp_btf/xdp_redirect_err")
int tx_refused(__u64 *args)
{
	struct tx_sender *sender = running_sender();
	struct tx_port *p;

	if (!sender || !is_ours((void *)args[0]))
		return 0;
	if ((__u32)args[6] == NO_INTERFACE && sender->ended) {
		bpf_send_signal_thread(SIGURG);
		return 0;
	}
	p = sender_port(port_of(args[6]));
	if (!p || p->pending_head == p->pending_tail)
		return 0;
	sender->clock = 0;
	refuse(p, &p->pending[--p->pending_head % PENDING_MAX]);
	p->error = args[3];
	p->user = 1;
	sender->ended = ENDED_ERROR;
	return 0;
}
