/* Puts what the kernel sends on a port into the VLAN of the port, and takes it out of what
 * the kernel receives. Test frames pass neither: they are counted before, and written
 * with their tags. The kernel keeps the outer tag beside a frame here, whether the
 * hardware has taken it out or not. */
#include "kernel.h"
#include "skb.h"

#define TAGS_MAX 2 /* frame.MaxVLANs */
#define ID_MASK 0xfff

const volatile __u32 tags;
const volatile __u16 etypes[TAGS_MAX]; /* outermost first */
const volatile __u16 tcis[TAGS_MAX];

SEC("tc")
int untag(struct __sk_buff *skb)
{
	for (int i = 0; i < TAGS_MAX; i++) {
		if (i >= tags)
			break;
		if (!skb->vlan_present || (skb->vlan_tci & ID_MASK) != (tcis[i] & ID_MASK))
			return TC_ACT_SHOT; /* of another network than the port's addresses */
		if (bpf_skb_vlan_pop(skb))
			return TC_ACT_SHOT;
	}
	return TC_ACT_UNSPEC;
}

SEC("tc")
int tag(struct __sk_buff *skb)
{
	for (int i = TAGS_MAX - 1; i >= 0; i--) {
		if (i < tags && bpf_skb_vlan_push(skb, bpf_htons(etypes[i]), tcis[i]))
			return TC_ACT_SHOT;
	}
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
