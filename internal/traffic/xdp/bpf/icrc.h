/* The invariant CRC (ICRC) of RoCEv2, at the end of a packet: the CRC-32 of IEEE 802.3. A CRC
 * is linear. So the word behind the signature can be chosen by the bytes in front of it that
 * change from frame to frame, so that the register of the CRC behind it never changes. Then the
 * ICRC is the same in every frame of a stream, and is in its payload already. */
#pragma once
#include "kernel.h"

/* The longest part of a frame of which the program computes the register: a congestion
 * notification packet over IPv6 without its ICRC. The part of a test frame that changes is from
 * the addresses of IPv6 to the end of the signature, and shorter. */
#define ICRC_MAX (IPV6_SIZE + UDP_SIZE + BTH_SIZE + 16)

const volatile __u32 crc_table[256]; /* of one byte; user space writes it */

/* Returns the register behind the bytes from from to to, of a register that was zero. A
 * function of its own, so that the verifier looks at it once. */
__noinline __u32 crc_register(struct xdp_md *ctx, __u32 from, __u32 to)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 count = to - from, r = 0;
	__u64 entry;

	if (from > NET_MAX + IPV6_SIZE)
		return 0;
	data += from;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < ICRC_MAX && i < count; i++) {
		if (data + 1 > end)
			return 0;
		entry = r ^ *(__u8 *)data;
		barrier_var(entry); /* Linux 6.1 knows no bounds of 32 bits of a register */
		entry &= 0xff;
		r = crc_table[entry] ^ r >> 8;
		data++;
	}
	return r;
}
