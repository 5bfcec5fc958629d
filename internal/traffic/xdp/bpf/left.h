/* What left. The kernel hands frames to the driver in bulks and in order, and drops those
 * at the end of a bulk that the driver has no room for. tx_done runs right after, on the
 * same CPU. A bulk is handed over at the end of a batch, or when the bulk queue is full and
 * one more frame is written. That frame, and no other, has its number by then, and is still
 * in the queue. */
#pragma once
#include "schedule.h"

/* An interface that does not exist: a redirect to it fails, which tx_refused sees. */
#define NO_INTERFACE 0x7fffffff
#define SIGURG 23

const volatile __u32 port_ifindex;
const volatile __u32 port_netns;

#define NO_PORT (~0U)

/* this_sender returns the sender of this processor. */
static __always_inline struct tx_sender *this_sender(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&tx_senders, &cpu);
}

/* running_sender returns the sender whose run this processor is in, or none. */
static __always_inline struct tx_sender *running_sender(void)
{
	struct tx_sender *sender = this_sender();

	if (!sender || !sender->ports)
		return 0;
	return sender;
}

/* port_of returns the number of the sender's port that an interface is, or NO_PORT. */
__noinline int port_of(__u32 ifindex)
{
	struct tx_sender *sender = this_sender();

	if (!sender)
		return NO_PORT;
	for (__u32 i = 0; i < PORTS_MAX; i++) {
		struct tx_port *p;

		if (i >= sender->ports)
			break;
		p = sender_port(sender->first + i);
		if (p && p->ifindex == ifindex)
			return sender->first + i;
	}
	return NO_PORT;
}

/* record_bulk records frames of one group that left together. It returns 0 where they
 * have to be recorded one by one: where some of them were late and some were not. */
static __always_inline int record_bulk(struct tx_port *p, __u32 sent, __u64 now)
{
	__u64 first = p->pending[p->pending_tail % PENDING_MAX].due;
	__u64 last = p->pending[(p->pending_tail + sent - 1) % PENDING_MAX].due;
	__u64 lag = now - last, oldest = now - first;

	if (p->groups != 1 || p->eager || sent < 2 || last > now || first > last)
		return 0;
	if (oldest > p->bound && lag <= p->bound)
		return 0;
	if (lag > p->bound) { /* all are late */
		p->late += sent - 1;
		p->row += sent - 1;
	}
	/* The frames of a group have the same spacing, and these were sent without any. */
	count_spacing(p, (last - first) / (sent - 1), sent - 1);
	record(p, first, now);
	p->last_due = last;
	p->last_lag = lag;
	return 1;
}

/* record_each records when the oldest frames of the bulk queue left. */
__noinline int record_each(__u32 number, __u32 sent, __u64 now)
{
	struct tx_port *p = sender_port(number);

	if (!p)
		return 0;
	for (__u32 i = 0; i < PENDING_MAX && i < sent; i++)
		record(p, p->pending[p->pending_tail++ % PENDING_MAX].due, now);
	return 0;
}

/* count_sent counts the oldest frames of the bulk queue as sent. */
static __always_inline void count_sent(struct tx_port *p, __u32 number, __u32 sent, __u64 now)
{
	p->sent += sent;
	if (sent > p->clump)
		p->clump = sent;
	if (!p->groups || record_bulk(p, sent, now))
		p->pending_tail += sent;
	else
		record_each(number, sent, now);
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

/* take_from_bulk takes back the frame behind some others in the bulk queue, from the newest
 * to the oldest. It returns 1 if the frame is of the stream in slot. Then its number is in
 * a hole with newer ones, and it keeps its places in ranges. */
__noinline int take_from_bulk(__u32 number, __u32 behind, __u32 slot, __u32 newer)
{
	struct tx_port *p = sender_port(number);
	struct tx_frame *from, *to;

	if (!p)
		return 0;
	from = &p->pending[(p->pending_tail + behind) % PENDING_MAX];
	to = &p->retry[(p->retry_head + behind) % RETRY_MAX];
	*to = *from;
	if (from->slot != slot) {
		take_back(from);
		return 0;
	}
	/* The next frame is the second after the one that is newer than all of them. */
	to->replay = newer + 2;
	return 1;
}

/* open_hole takes back the oldest frames of the bulk queue, where one more is in it. Its
 * stream's numbers among them are a hole, if that frame leaves. Receivers must know that
 * before. */
__noinline int open_hole(__u32 number, __u32 drops)
{
	struct tx_port *p = sender_port(number);
	struct tx_stream *s;
	struct hole *h;
	__u32 slot, n = 0;

	if (!p)
		return 0;
	slot = p->pending[(p->pending_head - 1) % PENDING_MAX].slot;
	s = bpf_map_lookup_elem(&tx_streams, &slot);
	if (!s)
		return 0;
	p->left += drops;
	p->refused += drops;
	for (__u32 i = 1; i <= BULK_MAX && i <= drops; i++)
		n += take_from_bulk(number, drops - i, slot, n);
	p->pending_tail += drops;
	p->retry_head += drops;
	if (!n)
		return 0;
	p->open_hole = n;
	s->unsent += n;
	s->refused += n;
	h = hole_of(s->id);
	if (h) {
		h->to = s->seq - 1;
		h->from = h->to - n;
	}
	return 0;
}

/* close_hole undoes open_hole for the frame's stream: the frame behind the hole was refused
 * too. */
__noinline int close_hole(__u32 number)
{
	struct tx_port *p = sender_port(number);
	struct tx_stream *s;
	struct hole *h;
	__u32 slot;

	if (!p)
		return 0;
	slot = p->pending[p->pending_tail % PENDING_MAX].slot;
	s = bpf_map_lookup_elem(&tx_streams, &slot);
	if (!s)
		return 0;
	h = hole_of(s->id);
	if (h)
		h->from = h->to = 0;
	s->seq -= p->open_hole;
	s->unsent -= p->open_hole;
	move_back(s, p->open_hole);
	for (__u32 i = 0; i < RETRY_MAX; i++)
		p->retry[i].replay = 0; /* there is no other hole */
	return 0;
}

/* take_refused takes back the oldest frames of the bulk queue. */
static __always_inline void take_refused(struct tx_port *p, __u32 number, __u32 drops)
{
	if (p->pending_head - p->pending_tail > drops) {
		open_hole(number, drops);
		return;
	}
	if (p->open_hole)
		close_hole(number);
	count_refused(number, drops);
}

static __always_inline int is_ours(const struct net_device *dev)
{
	return dev->nd_net.net->ns.inum == port_netns;
}

SEC("tp_btf/xdp_devmap_xmit")
int tx_done(__u64 *args)
{
	struct net_device *to = (void *)args[1];
	int sent = args[2], drops = args[3], error = args[4];
	struct tx_sender *sender = running_sender();
	struct tx_port *p;
	__u32 number;
	__u64 now = 0;

	if (!sender || !is_ours(to))
		return 0;
	number = sender->first;
	p = sender_port(number);
	if (!p || p->ifindex != to->ifindex) {
		number = port_of(to->ifindex);
		p = sender_port(number);
	}
	if (!p || sent < 0 || drops < 0 || p->pending_head - p->pending_tail < sent + drops)
		return 0; /* not our frames */
	if (p->pending_head - p->pending_tail == sent + drops)
		sender->clock = 0; /* the batch has ended */
	if (drops || p->groups)
		now = bpf_ktime_get_ns() - sender->begin;
	if (sent)
		count_sent(p, number, sent, now);
	if (drops) {
		p->single = 0;
		take_refused(p, number, drops);
		p->resume = now + sender->pause;
		p->catching = 0;
	} else if (p->open_hole) {
		/* The frame behind the hole left. There must not be another hole: the rest is
		 * sent in batches that the bulk queue holds. */
		p->holes++;
		if (!sender->ended)
			sender->ended = ENDED_HOLE;
	}
	if (p->pending_head == p->pending_tail)
		p->open_hole = 0;
	if (drops && error) {
		p->error = error;
		p->user = 1;
		sender->ended = ENDED_ERROR;
	}
	return 0;
}

/* refuse_newest takes back the frame that was written last: it could not even be queued. */
__noinline int refuse_newest(__u32 number, int error)
{
	struct tx_sender *sender = this_sender();
	struct tx_port *p = sender_port(number);

	if (!sender || !p || p->pending_head == p->pending_tail)
		return 0;
	sender->clock = 0;
	p->single = 0;
	refuse(p, &p->pending[--p->pending_head % PENDING_MAX]);
	p->error = error;
	p->user = 1;
	sender->ended = ENDED_ERROR;
	return 0;
}

/* A frame could not be queued: no driver support, or too long. Or the run has come to its
 * end. */
SEC("tp_btf/xdp_redirect_err")
int tx_refused(__u64 *args)
{
	struct tx_sender *sender = running_sender();
	__u32 to = args[6];

	if (!sender || !is_ours((void *)args[0]))
		return 0;
	if (args[4] == BPF_MAP_TYPE_DEVMAP)
		refuse_newest(to, args[3]); /* the number of a port */
	else if (to == NO_INTERFACE && sender->ended)
		bpf_send_signal_thread(SIGURG);
	return 0;
}
