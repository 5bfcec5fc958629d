/* What programs of traffic control see of a frame. */
#pragma once

struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto;
	__u32 priority, ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid;
	__u32 data, data_end;
};

enum { TC_ACT_UNSPEC = -1, TC_ACT_OK = 0, TC_ACT_SHOT = 2 };
