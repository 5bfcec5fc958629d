/* The programs of one port. The XDP program counts test frames that the port
 * received, and writes and sends one when it is run by BPF_PROG_RUN, where the
 * frame seems to come from the loopback device. It is one program for both,
 * because the kernel keeps a jump table of the XDP programs in use: a run of a
 * program that is not in it, for being attached nowhere, adds it and removes it
 * again, and each takes an RCU grace period of 10 ms and more. */
#include "send.h"
#include "rx.h"

SEC("xdp")
int port(struct xdp_md *ctx)
{
	return ctx->ingress_ifindex == port_ifindex ? receive(ctx) : transmit(ctx);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
