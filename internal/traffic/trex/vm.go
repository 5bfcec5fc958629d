package trex

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

const (
	// maxValues is the longest list of values that the server takes for a variable.
	maxValues = math.MaxUint16

	// Offsets in bytes: of what changes in a hardware address, from its beginning,
	// and of the addresses.
	macVaries = 2
	dstMACAt  = 0
	srcMACAt  = 6
	wordBytes = 4
	portBytes = 2
	udpAt     = 6 // of the checksum, from the beginning of UDP
	// balanceAt is the offset of the balance of ranges in a signature: in its number and
	// time, which TRex does not write. They have 12 bytes, and two ranges of addresses and
	// two of ports need as many.
	balanceAt = 6
)

// fields are the offsets in bytes of what ranges count in, from the beginning of
// the network layer: the last four bytes of addresses, and the ports.
type fields struct{ srcIP, dstIP, udp int }

var (
	fields4 = fields{srcIP: 12, dstIP: 16, udp: 20}
	fields6 = fields{srcIP: 20, dstIP: 36, udp: 40}
)

// countRange is a range of consecutive values under the UDP checksum.
type countRange struct {
	name  string
	size  int // in bytes
	first uint64
	count uint32
	at    int
}

// last is the highest value.
func (r countRange) last() uint64 { return r.first + uint64(r.count) - 1 }

// ranges of headers whose network layer begins at offset ip: those that have more
// than one value.
func ranges(h traffic.Headers, ip int) ([]countRange, error) {
	f := fields4
	if h.SrcIP.Is6() {
		f = fields6
	}
	var out []countRange
	for _, r := range []countRange{
		{"src_ip", wordBytes, lastWord(h.SrcIP), h.SrcIPCount, ip + f.srcIP},
		{"dst_ip", wordBytes, lastWord(h.DstIP), h.DstIPCount, ip + f.dstIP},
		{"src_port", portBytes, uint64(h.SrcPort), h.SrcPortCount, ip + f.udp},
		{"dst_port", portBytes, uint64(h.DstPort), h.DstPortCount, ip + f.udp + portBytes},
	} {
		if r.count <= 1 {
			continue
		}
		if highest := uint64(1)<<(8*r.size) - 1; r.last() > highest {
			return nil, fmt.Errorf("%s: %d values from %d on pass the highest, %d: begin lower or take fewer", r.name, r.count, r.first, highest)
		}
		out = append(out, r)
	}
	return out, nil
}

func lastWord(a netip.Addr) uint64 {
	b := a.AsSlice()
	return uint64(binary.BigEndian.Uint32(b[len(b)-wordBytes:]))
}

// program is a list of instructions of the server's field engine.
type program []params

// add adds a variable and its writing to offset at.
func (vm *program) add(name, op string, variable params, at int) {
	variable["type"], variable["name"], variable["op"], variable["step"] = "flow_var", name, op, 1
	*vm = append(*vm, variable, params{
		"type": "write_flow_var", "name": name, "pkt_offset": at, "add_value": 0, "is_big_endian": true,
	})
}

// count adds a variable of consecutive values.
func (vm *program) count(name, op string, r countRange, init uint64, at int) {
	vm.add(name, op, params{"size": r.size, "init_value": init, "min_value": r.first, "max_value": r.last()}, at)
}

// instructions make the ranges of a stream's frames after the first from. Each range
// has a variable of its own, so that each counts on its own. The server fixes the
// checksum of IPv4 after them, where UDP has none. The checksum of UDP over IPv6 is
// kept as it is, see balance, except in the frames of a probe: the server writes into
// those after the checksum.
func (s *stream) instructions(rule string, from uint64) (program, error) {
	h := s.Headers
	vm := program{}
	for _, r := range []struct {
		name  string
		first traffic.MAC
		count uint32
		at    int
	}{{"dst_mac", h.DstMAC, h.DstMACCount, dstMACAt}, {"src_mac", h.SrcMAC, h.SrcMACCount, srcMACAt}} {
		if r.count <= 1 {
			continue
		}
		if r.count > maxValues {
			return nil, fmt.Errorf("stream %d: %s: %d addresses: TRex takes at most %d that are not consecutive: %w", s.ID, r.name, r.count, maxValues, traffic.ErrUnsupported)
		}
		vm.add(r.name, "inc", params{"size": wordBytes, "value_list": macWords(r.first, r.count, from)}, r.at+macVaries)
	}
	all, err := ranges(h, s.ip)
	if err != nil {
		return nil, fmt.Errorf("stream %d: %w", s.ID, err)
	}
	at := s.signature + balanceAt
	for _, r := range all {
		skip := from % uint64(r.count)
		vm.count(r.name, "inc", r, r.first+skip, r.at)
		if h.SrcIP.Is6() && rule == ruleStats {
			vm.count(r.name+"_balance", "dec", r, r.last()-skip, at)
			at += r.size
		}
	}
	if h.SrcIP.Is4() && (h.SrcIPCount > 1 || h.DstIPCount > 1) {
		vm = append(vm, params{"type": "fix_checksum_ipv4", "pkt_offset": s.ip})
	}
	return vm, nil
}

// balance writes into a packet of IPv6 what holds its UDP checksum when ranges
// count: to every value v of a range from a to b there is a + b - v in the payload.
// Their sum stays the same, and with it, modulo 65535, the sum of their words.
func (s *stream) balance() error {
	all, err := ranges(s.Headers, s.ip)
	if err != nil || !s.Headers.SrcIP.Is6() {
		return err
	}
	at := s.signature + balanceAt
	for _, r := range all {
		word := binary.BigEndian.AppendUint32(nil, uint32(r.last()))
		at += copy(s.packet[at:], word[wordBytes-r.size:])
	}
	ip := s.packet[s.ip:]
	udp := ip[fields6.udp:]
	binary.BigEndian.PutUint16(udp[udpAt:], 0)
	sum := frame.Checksum(frame.Sum(udp) + frame.Sum(ip[8:fields6.udp]) + protoUDP + uint64(len(udp)))
	if sum == 0 {
		sum = 0xffff // 0 would mean that there is none
	}
	binary.BigEndian.PutUint16(udp[udpAt:], sum)
	return nil
}

// macWords are the last four bytes of each address of a range, see MAC.Nth, with
// those first that come after the first from.
func macWords(first traffic.MAC, count uint32, from uint64) []uint32 {
	words := make([]uint32, count)
	for i := range words {
		mac := first.Nth(uint32((from + uint64(i)) % uint64(count)))
		words[i] = binary.BigEndian.Uint32(mac[macVaries:])
	}
	return words
}
