package trex

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// maxValues is the longest list of values that the server takes for a variable.
	maxValues = math.MaxUint16

	// Offsets in bytes: of what changes in a hardware address, from its beginning,
	// and of fields from the beginning of IPv4.
	macVaries   = 2
	dstMACAt    = 0
	srcMACAt    = 6
	srcIPAt     = 12
	dstIPAt     = 16
	srcPortAt   = 20
	dstPortAt   = 22
	wordBytes   = 4
	portBytes   = 2
	familyBytes = 4
)

// instructions are those of the server's field engine that make the ranges of
// headers whose network layer begins at offset ip, for the frames of a stream after
// the first from. Each range has a variable of its own, so that each counts on its
// own. The server fixes the checksum of IPv4 after them; UDP has none over IPv4.
func instructions(h traffic.Headers, ip int, from uint64) ([]params, error) {
	vm := []params{}
	add := func(name string, variable params, at int) {
		variable["type"], variable["name"], variable["op"], variable["step"] = "flow_var", name, "inc", 1
		vm = append(vm, variable, params{
			"type": "write_flow_var", "name": name, "pkt_offset": at, "add_value": 0, "is_big_endian": true,
		})
	}
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
			return nil, fmt.Errorf("%s: %d addresses: TRex takes at most %d that are not consecutive: %w", r.name, r.count, maxValues, traffic.ErrUnsupported)
		}
		add(r.name, params{"size": wordBytes, "value_list": macWords(r.first, r.count, from)}, r.at+macVaries)
	}
	for _, r := range []struct {
		name  string
		first netip.Addr
		count uint32
		at    int
	}{{"src_ip", h.SrcIP, h.SrcIPCount, srcIPAt}, {"dst_ip", h.DstIP, h.DstIPCount, dstIPAt}} {
		if r.count <= 1 {
			continue
		}
		first := binary.BigEndian.Uint32(r.first.AsSlice()[:familyBytes])
		if err := addRange(add, r.name, wordBytes, uint64(first), r.count, from, ip+r.at); err != nil {
			return nil, err
		}
	}
	for _, r := range []struct {
		name  string
		first uint16
		count uint32
		at    int
	}{{"src_port", h.SrcPort, h.SrcPortCount, srcPortAt}, {"dst_port", h.DstPort, h.DstPortCount, dstPortAt}} {
		if r.count <= 1 {
			continue
		}
		if err := addRange(add, r.name, portBytes, uint64(r.first), r.count, from, ip+r.at); err != nil {
			return nil, err
		}
	}
	if h.SrcIPCount > 1 || h.DstIPCount > 1 {
		vm = append(vm, params{"type": "fix_checksum_ipv4", "pkt_offset": ip})
	}
	return vm, nil
}

// addRange adds a variable of consecutive values of size bytes.
func addRange(add func(string, params, int), name string, size int, first uint64, count uint32, from uint64, at int) error {
	last := first + uint64(count) - 1
	if last >= 1<<(8*size) {
		return fmt.Errorf("%s: %d values from %d on pass the highest, %d: begin lower or take fewer", name, count, first, uint64(1)<<(8*size)-1)
	}
	add(name, params{"size": size, "init_value": first + from%uint64(count), "min_value": first, "max_value": last}, at)
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
