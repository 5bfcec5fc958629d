package trex

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// advertising is the profile of a port that tells its gateways the hardware address
// of its addresses. The server answers ARP for one address and no neighbour discovery
// at all. What a device is told before it asks again, it need not ask for.
const advertising = "neighbours"

const (
	// tellPerSecond is how often an address is told. A router waits 3 s for an answer
	// before it gives up (RFC 4861 section 10: three times RETRANS_TIMER; Linux does
	// the same for ARP), and keeps what waits for it no longer.
	tellPerSecond = 5
	// tellsPerSecond bounds that on a port, so that even a line of 1 Gbit/s is filled as
	// exactly as trials look at it, see unsentShare. What is told more seldom by that is
	// told once in tellEvery seconds still.
	tellsPerSecond = 100
	tellEvery      = 2
)

// pace is how many frames a second tell that many addresses.
func pace(addresses int) float64 {
	n := float64(addresses)
	return min(tellPerSecond*n, max(tellsPerSecond, n/tellEvery))
}

// advertise lets every port tell its gateways where its addresses are, for as long as
// it is not hushed. Gateways are the neighbours that were resolved and to which no
// stream is addressed: without routers in between nobody needs to be told, as frames
// carry the hardware address of their receiver.
func (e *Engine) advertise(ctx context.Context) error {
	for _, p := range e.ports {
		if err := e.tell(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// tell makes a port tell its gateways, unless it does already.
func (e *Engine) tell(ctx context.Context, p *port) error {
	if p.telling || len(e.all) == 0 {
		return nil
	}
	peers := map[netip.Addr]bool{}
	for _, s := range e.all {
		peers[s.Headers.DstIP] = true
	}
	var calls []call
	tells := p.tells(peers)
	total := 0
	for _, t := range tells {
		total += int(t.count)
	}
	if total == 0 {
		return nil
	}
	for i, t := range tells {
		calls = append(calls, call{"add_stream", p.profile(advertising, params{"stream_id": i + 1, "stream": params{
			"enabled": true, "self_start": true, "start_paused": false, "flags": flagsFromPacket,
			"action_count": 0, "isg": 0.0, "next_stream_id": -1, "core_id": -1,
			"mode":       params{"type": "continuous", "rate": params{"type": "pps", "value": pace(total) * float64(t.count) / float64(total)}},
			"packet":     params{"binary": base64.StdEncoding.EncodeToString(t.packet), "meta": ""},
			"vm":         params{"instructions": t.vm},
			"flow_stats": params{"enabled": false},
		}})})
	}
	calls = append(calls, p.start(advertising))
	if _, err := e.client.batch(ctx, calls); err != nil {
		err = fmt.Errorf("telling the gateways of port %s (TRex port %d) where it is: %w", p.Name, p.index(), err)
		return errors.Join(err, e.leftovers(ctx, p)) // some of it is there
	}
	p.telling = true
	return nil
}

// hush makes a port tell nothing any more.
func (e *Engine) hush(ctx context.Context, p *port) error {
	if !p.telling {
		return nil
	}
	_, err := e.client.batch(ctx, []call{{"stop_traffic", p.profile(advertising, nil)}, {"remove_all_streams", p.profile(advertising, nil)}})
	if err == nil {
		p.telling = false
	}
	return err
}

// meet notes a neighbour that answered.
func (p *port) meet(addr netip.Addr, mac traffic.MAC) {
	if p.met == nil {
		p.met = map[netip.Addr]traffic.MAC{}
	}
	p.met[addr] = mac
}

// tells is a stream that tells a gateway about consecutive addresses, one per frame.
type tells struct {
	packet []byte
	vm     program
	count  uint32
}

// tells are those of a port to the neighbours that it met, but for the peers.
func (p *port) tells(peers map[netip.Addr]bool) []tells {
	var gateways []netip.Addr
	for addr := range p.met {
		if !peers[addr] {
			gateways = append(gateways, addr)
		}
	}
	slices.SortFunc(gateways, netip.Addr.Compare)
	var out []tells
	for _, gateway := range gateways {
		for _, h := range p.hosts(gateway.Is4()) {
			out = append(out, p.tellsOf(h, gateway))
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
func (p *port) hosts(ipv4 bool) []hosts {
	var all []netip.Addr
	for _, prefix := range p.Addresses {
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

// tellsOf builds the stream. The field engine counts the addresses up; of ICMPv6 the
// server puts the checksum right after that.
func (p *port) tellsOf(h hosts, gateway netip.Addr) tells {
	t := tells{count: h.count, vm: program{}}
	where := []int{arpAt + arpSenderAt}
	if gateway.Is4() {
		t.packet = arpReply(p.mac, h.first, p.met[gateway], gateway)
	} else {
		t.packet = neighbourAdvertisement(p.mac, h.first, p.met[gateway], gateway)
		where = []int{ethernetBytes + fields6.srcIP, ethernetBytes + ipv6Bytes + targetAt + targetVaries}
	}
	if h.count == 1 {
		return t
	}
	words := countRange{name: "address", size: wordBytes, first: lastWord(h.first), count: h.count}
	t.vm.count(words.name, "inc", words, words.first, where[0])
	if gateway.Is6() {
		t.vm = append(t.vm,
			params{"type": "write_flow_var", "name": words.name, "pkt_offset": where[1], "add_value": 0, "is_big_endian": true},
			params{"type": "fix_checksum_icmpv6", "l2_len": ethernetBytes, "l3_len": ipv6Bytes})
	}
	return t
}

const (
	// Offsets of the sender's address in ARP, of its target's hardware address, and of
	// the target in a message of neighbour discovery, of which the last four bytes vary.
	arpSenderAt, arpTargetMACAt, arpTargetAt = 14, 18, 24
	targetAt, targetVaries                   = 8, 12
	// solicitedOverride are the flags S and O of an advertisement, without R (RFC 4861
	// section 4.4): with both, an entry in any state becomes REACHABLE (section 7.2.5).
	solicitedOverride = 0x60
)

// arpReply tells a neighbour that src is at mac (RFC 826), without FCS. It is sent to
// nobody else: Linux takes a reply that was broadcast for a hint only.
func arpReply(mac traffic.MAC, src netip.Addr, to traffic.MAC, dst netip.Addr) []byte {
	b := arpRequest(mac, src, dst)
	copy(b, to[:])
	arp := b[arpAt:]
	binary.BigEndian.PutUint16(arp[6:], arpReplyOp)
	copy(arp[arpTargetMACAt:], to[:])
	return b
}

// neighbourAdvertisement tells a neighbour that src is at mac, as if it had asked,
// without FCS.
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
