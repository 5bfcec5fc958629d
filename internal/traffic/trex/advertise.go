package trex

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// advertising is the profile that announces the addresses of a port and their hardware
// address to the gateways of the port. The server answers ARP for one address only, and
// no neighbor discovery. A device that receives announcements often enough need not ask.
const advertising = "neighbours"

const (
	// addressRate is the number of announcements per second for each address. A router
	// waits 3 s for an answer and then drops the packets that wait for it (RFC 4861
	// section 10: three times RETRANS_TIMER; Linux does the same for ARP).
	addressRate = 5
	// portRate bounds the announcements of a port, per second, so that they take less than
	// unsentShare of a line of 1 Gbit/s. Each address is announced at least every
	// longestInterval seconds, even above that bound.
	portRate        = 100
	longestInterval = 2
)

// announceRate is the number of frames per second that announce so many addresses.
func announceRate(addresses int) float64 {
	n := float64(addresses)
	return min(addressRate*n, max(portRate, n/longestInterval))
}

// advertise makes every port announce its addresses to its gateways until
// stopAnnouncing. Gateways are the resolved neighbors to which no stream is addressed.
// Without routers in between no announcement is needed: frames carry the hardware
// address of their receiver.
func (e *Engine) advertise(ctx context.Context) error {
	for _, p := range e.server.ports {
		if err := p.announce(ctx, e.streams.all); err != nil {
			return err
		}
	}
	return nil
}

// announce makes the port announce its addresses to its gateways, unless it does already.
// streams are the streams of the bed.
func (p *port) announce(ctx context.Context, streams []stream) error {
	if p.neighbours.announcing || len(streams) == 0 {
		return nil
	}
	peers := map[netip.Addr]bool{}
	for _, s := range streams {
		peers[s.Headers.DstIP] = true
	}
	var calls []call
	announcements := p.neighbours.announcements(peers)
	total := 0
	for _, a := range announcements {
		total += int(a.count)
	}
	if total == 0 {
		return nil
	}
	for i, a := range announcements {
		calls = append(calls, call{"add_stream", p.profile(advertising, params{"stream_id": i + 1, "stream": params{
			"enabled": true, "self_start": true, "start_paused": false, "flags": flagsFromPacket,
			"action_count": 0, "isg": 0.0, "next_stream_id": -1, "core_id": -1,
			"mode":       params{"type": "continuous", "rate": params{"type": "pps", "value": announceRate(total) * float64(a.count) / float64(total)}},
			"packet":     params{"binary": base64.StdEncoding.EncodeToString(a.packet), "meta": ""},
			"vm":         params{"instructions": a.vm},
			"flow_stats": params{"enabled": false},
		}})})
	}
	calls = append(calls, p.start(advertising))
	if _, err := p.client.batch(ctx, calls); err != nil {
		err = fmt.Errorf("announcing the addresses of port %s (TRex port %d) to its gateways: %w", p.Name, p.index(), err)
		return errors.Join(err, p.leftovers(ctx)) // some streams were added
	}
	p.neighbours.announcing = true
	return nil
}

// stopAnnouncing ends the announcements of the port.
func (p *port) stopAnnouncing(ctx context.Context) error {
	if !p.neighbours.announcing {
		return nil
	}
	_, err := p.client.batch(ctx, []call{{"stop_traffic", p.profile(advertising, nil)}, {"remove_all_streams", p.profile(advertising, nil)}})
	if err == nil {
		p.neighbours.announcing = false
	}
	return err
}

// addNeighbour records a neighbor that answered.
func (n *neighbours) add(addr netip.Addr, mac traffic.MAC) {
	if n.known == nil {
		n.known = map[netip.Addr]traffic.MAC{}
	}
	n.known[addr] = mac
}

// announcement is a stream that announces consecutive addresses to a gateway, one per frame.
type announcement struct {
	packet []byte
	vm     program
	count  uint32
}

// announcements are the streams to the resolved neighbors of a port, except the peers.
func (n *neighbours) announcements(peers map[netip.Addr]bool) []announcement {
	var gateways []netip.Addr
	for addr := range n.known {
		if !peers[addr] {
			gateways = append(gateways, addr)
		}
	}
	slices.SortFunc(gateways, netip.Addr.Compare)
	var out []announcement
	for _, gateway := range gateways {
		for _, h := range n.hosts(gateway.Is4()) {
			out = append(out, n.announcement(h, gateway))
		}
	}
	return out
}

// hosts is a range of consecutive addresses.
type hosts struct {
	first netip.Addr
	count uint32
}

// hosts are the addresses of a family, as ranges that count in the last four bytes.
func (n *neighbours) hosts(ipv4 bool) []hosts {
	var all []netip.Addr
	for _, prefix := range n.Addresses {
		if a := prefix.Addr(); a.Is4() == ipv4 {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	var out []hosts
	for i, a := range slices.Compact(all) {
		if i > 0 && lastWord(a) > 0 && out[len(out)-1].last().Next() == a {
			out[len(out)-1].count++
			continue
		}
		out = append(out, hosts{a, 1})
	}
	return out
}

// last is the highest address.
func (h hosts) last() netip.Addr { return traffic.Above(h.first, h.count-1) }

// announcement builds the stream for a range of addresses. The field engine counts the
// addresses up; then the server corrects the checksum of ICMPv6.
func (n *neighbours) announcement(h hosts, gateway netip.Addr) announcement {
	t := announcement{count: h.count, vm: program{}}
	where := []int{arpAt + arpSenderAt}
	if gateway.Is4() {
		t.packet = arpReply(n.mac, h.first, n.known[gateway], gateway)
	} else {
		t.packet = neighbourAdvertisement(n.mac, h.first, n.known[gateway], gateway)
		where = []int{ethernetBytes + fields6.srcIP, ethernetBytes + ipv6Bytes + targetAt + targetVaries}
	}
	t.packet = n.VLANs.Tag(t.packet)
	for i := range where {
		where[i] += n.VLANs.Bytes()
	}
	if h.count == 1 {
		return t
	}
	words := countRange{name: "address", size: wordBytes, first: lastWord(h.first), count: h.count}
	t.vm.count(words.name, "inc", words, words.first, where[0])
	if gateway.Is6() {
		t.vm = append(t.vm,
			params{"type": "write_flow_var", "name": words.name, "pkt_offset": where[1], "add_value": 0, "is_big_endian": true},
			params{"type": "fix_checksum_icmpv6", "l2_len": ethernetBytes + n.VLANs.Bytes(), "l3_len": ipv6Bytes})
	}
	return t
}

const (
	// Offsets of the sender's address in ARP, of its target's hardware address, and of
	// the target in a message of neighbor discovery, of which the last four bytes vary.
	arpSenderAt, arpTargetMACAt, arpTargetAt = 14, 18, 24
	targetAt, targetVaries                   = 8, 12
	// solicitedOverride are the flags S and O of an advertisement, without R (RFC 4861
	// section 4.4): with both, an entry in any state becomes REACHABLE (section 7.2.5).
	solicitedOverride = 0x60
)

// arpReply is an ARP reply that src is at mac (RFC 826), without FCS. It is unicast:
// Linux treats a broadcast reply as a hint only.
func arpReply(mac traffic.MAC, src netip.Addr, to traffic.MAC, dst netip.Addr) []byte {
	b := arpRequest(mac, src, dst)
	copy(b, to[:])
	arp := b[arpAt:]
	binary.BigEndian.PutUint16(arp[6:], arpReplyOp)
	copy(arp[arpTargetMACAt:], to[:])
	return b
}

// neighbourAdvertisement is a solicited advertisement that src is at mac, without FCS.
func neighbourAdvertisement(mac traffic.MAC, src netip.Addr, to traffic.MAC, dst netip.Addr) []byte {
	b := make([]byte, ethernetBytes+ipv6Bytes+neighbourBytes+8)
	copy(b, to[:])
	copy(b[6:], mac[:])
	binary.BigEndian.PutUint16(b[12:], etherIPv6)
	ip := b[ethernetBytes:]
	message := ip[ipv6Bytes:]
	ip[0] = 6 << 4
	binary.BigEndian.PutUint16(ip[4:], uint16(len(message)))
	ip[6], ip[7] = protoICMPv6, neighbourHops
	copy(ip[8:], src.AsSlice())
	copy(ip[24:], dst.AsSlice())
	message[0], message[4] = typeAdvertisement, solicitedOverride
	copy(message[targetAt:], src.AsSlice())
	message[24], message[25] = optionTarget, 1
	copy(message[26:], mac[:])
	sum := frame.Sum(ip[8:ipv6Bytes]) + protoICMPv6 + uint64(len(message)) + frame.Sum(message)
	binary.BigEndian.PutUint16(message[2:], frame.Checksum(sum))
	return b
}
