/* Frames by which a device asks the port to send nothing for a time: pause frames (IEEE 802.3
 * annex 31B), and frames of priority-based flow control (PFC, IEEE 802.1Q clause 36 and
 * IEEE 802.3 annex 31D). Cards whose MAC takes them show none to the program. */
#pragma once
#include "kernel.h"
#include "rxframe.h"

#define ETH_CONTROL bpf_htons(0x8808) /* MAC control */
#define OPCODE_PAUSE bpf_htons(0x0001)
#define OPCODE_PFC bpf_htons(0x0101)
#define PRIORITIES 8 /* traffic.Priorities */

struct rx_pauses {
	__u64 pauses;
	__u64 pfc[PRIORITIES]; /* frames of PFC in which a priority is enabled */
};

/* Counts a frame of flow control, and says whether it is one. */
static __always_inline int count_pause(void *data, void *end, struct rx_pauses *to)
{
	__u16 enabled;

	if (data + ETH_SIZE + 4 > end || AT(__be16, 12) != ETH_CONTROL)
		return 0;
	switch (AT(__be16, ETH_SIZE)) {
	case OPCODE_PAUSE:
		to->pauses++;
		return 1;
	case OPCODE_PFC:
		enabled = bpf_ntohs(AT(__be16, ETH_SIZE + 2));
#pragma unroll
		for (int i = 0; i < PRIORITIES; i++)
			to->pfc[i] += enabled >> i & 1;
		return 1;
	}
	return 0;
}
