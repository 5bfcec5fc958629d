package xdp

import (
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/frame"
)

func bigEndian(v uint16) uint16 { return v<<8 | v>>8 }

// beside returns the tags that remain in a frame which a packet socket receives: the kernel
// keeps the outermost one outside the frame.
func beside(vlans frame.VLANs) frame.VLANs { return vlans[min(1, len(vlans)):] }

// Offsets of the data that the kernel keeps outside a frame (linux/filter.h, SKF_AD_OFF).
const (
	ancillary    = 1<<32 - 0x1000
	tagAt        = ancillary + 44
	tagPresentAt = ancillary + 48
	idMask       = 0xfff
)

// queries lets only queries of IGMP and MLD of a VLAN pass, so that the other traffic of
// the port costs nothing. Offsets count from the Ethernet header; an MLD query comes
// behind 8 bytes of hop-by-hop options.
func queries(vlans frame.VLANs) []unix.SockFilter {
	var filter []unix.SockFilter
	load := func(size uint16, at uint32) {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_LD | size | unix.BPF_ABS, K: at})
	}
	unless := func(value uint32) { // the frame is dropped
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0})
	}
	inVLAN := func(v frame.VLAN) {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: idMask})
		unless(uint32(v.ID))
	}
	if len(vlans) > 0 {
		load(unix.BPF_W, tagPresentAt)
		unless(1)
		load(unix.BPF_W, tagAt)
		inVLAN(vlans[0])
	}
	inside := beside(vlans)
	for i, v := range inside {
		load(unix.BPF_H, uint32(14+4*i))
		inVLAN(v)
	}
	n := uint32(inside.Bytes())
	return append(filter, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 12 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.ETH_P_IP, Jt: 0, Jf: 5},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 23 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_IGMP, Jt: 0, Jf: 8},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 14 + n},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_IND, K: 14 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0x11, Jt: 6, Jf: 5},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.ETH_P_IPV6, Jt: 0, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 54 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_ICMPV6, Jt: 0, Jf: 2},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 62 + n},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 130, Jt: 1, Jf: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 14},
	}...)
}
