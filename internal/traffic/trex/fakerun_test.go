package trex

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// fakeRun is a run of a port's streams.
type fakeRun struct {
	begin time.Time
	// duration in seconds of the scheduler's time; below 0 it is endless.
	duration float64
	// stretch is the factor by which that goes slower than the clock.
	stretch float64
	// frozen reports whether receive counters of plain streams do not change.
	frozen bool
}

func (f *fakeServer) start(p *fakePort, q map[string]any) (any, *fakeError) {
	one, err := p.profile(q)
	if err != nil {
		return nil, err
	}
	if one.state() != "STREAMS" {
		return nil, one.notIn("start")
	}
	if err := f.allocate(one); err != nil {
		return nil, err
	}
	run := &fakeRun{begin: time.Now().Add(f.lag), stretch: 1, frozen: one.filters}
	run.duration, _ = q["duration"].(float64)
	var sum float64
	for _, s := range one.streams {
		sum += s.pps
		s.inRun = 0
	}
	run.stretch = max(1, sum/f.capacity)
	one.run, one.sending, one.filters = run, true, true
	f.event(10, map[string]any{"port_id": p.index, "profile_id": one.id})
	f.event(0, map[string]any{"port_id": p.index})
	return map[string]any{"multiplier": 1.0, "ts": 3.76}, nil
}

// allocate assigns hardware numbers to the streams of a profile, and finds out that
// there are more counted streams than counters, which the server does when they
// start.
func (f *fakeServer) allocate(one *fakeProfile) *fakeError {
	for _, s := range one.order() {
		limit := fakeCounters
		if s.latency {
			limit = fakeLatencyCounters
		}
		if !s.enabled {
			continue
		}
		if err := f.number(s, limit); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeServer) stop(p *fakePort, q map[string]any) (any, *fakeError) {
	one, err := p.profile(q)
	if err != nil {
		return nil, err
	}
	if one.sending {
		f.end(p, one)
	}
	one.reportsEnd = time.Time{}
	return map[string]any{}, nil
}

// end ends a run; what is left over stays in the ring of the other port.
func (f *fakeServer) end(p *fakePort, one *fakeProfile) {
	one.sending, one.reportsEnd = false, time.Now().Add(f.late)
	peer := f.ports[1-p.index]
	for _, s := range one.streams {
		n := min(f.leftover, s.received)
		if n > 0 && s.enabled {
			s.received -= n
			peer.received -= n
			peer.ring[s.group] += n
		}
	}
	f.event(14, map[string]any{"port_id": p.index, "profile_id": one.id})
	f.event(4, map[string]any{"port_id": p.index})
}

// advance lets all frames be sent and received that are due, and what the server
// does from time to time be done.
func (f *fakeServer) advance(now time.Time) {
	for ; !f.update.After(now); f.update = f.update.Add(f.period) {
		f.sendUntil(f.update)
		for _, p := range f.ports {
			for _, s := range p.profiles["_"].streams {
				s.times.update()
			}
		}
	}
	f.sendUntil(now)
	f.take()
}

// fakeLimit is a device that passes so many frames a second, and holds up to depth
// frames of more.
type fakeLimit struct {
	on               bool
	perSecond, depth float64
	// room is the number of frames that it takes at the time at.
	room float64
	at   time.Time
}

// until makes the room up to a time, without a bound: frames come in before that.
func (l *fakeLimit) until(now time.Time) {
	if l.at.IsZero() {
		l.at, l.room = now, l.depth
	}
	l.room += now.Sub(l.at).Seconds() * l.perSecond
	l.at = now
}

// take returns how many of n frames pass.
func (l *fakeLimit) take(n uint64) uint64 {
	if !l.on {
		return n
	}
	n = min(n, uint64(max(0, l.room)))
	l.room -= float64(n)
	return n
}

func (f *fakeServer) sendUntil(now time.Time) {
	f.limited.until(now)
	defer func() { f.limited.room = min(f.limited.room, f.limited.depth) }()
	for _, p := range f.ports {
		for _, one := range p.profiles {
			if one.sending {
				f.sendProfile(p, one, now)
			}
		}
	}
}

func (f *fakeServer) sendProfile(p *fakePort, one *fakeProfile, now time.Time) {
	elapsed := max(0, now.Sub(one.run.begin).Seconds()) / one.run.stretch
	over := one.run.duration >= 0 && elapsed >= one.run.duration
	if over {
		elapsed = one.run.duration
	}
	bursts := true
	for _, s := range one.streams {
		if s.paused {
			bursts = false
			continue
		}
		due := uint64(max(0, elapsed-s.delay/1e6) * s.pps)
		if s.total > 0 {
			due = min(due, s.total)
		}
		f.pass(p, one.run, s, due-s.inRun)
		s.inRun = due
		bursts = bursts && s.total > 0 && due == s.total
	}
	if over || bursts {
		f.end(p, one)
	}
}

// pass sends n frames of a stream to the other port, which counts those that
// were not dropped and that it takes.
func (f *fakeServer) pass(p *fakePort, run *fakeRun, s *fakeStream, n uint64) {
	peer := f.ports[1-p.index]
	arrived := n
	if f.dropEvery > 0 {
		arrived -= (s.sent+n)/f.dropEvery - s.sent/f.dropEvery
	}
	arrived = f.limited.take(arrived)
	s.sent += n
	p.sent, p.sentB = p.sent+n, p.sentB+n*s.bytes
	if f.cable != nil {
		f.cable.put(fakeEnd{f, p.index}, s, n)
		return
	}
	if !peer.promiscuous && (s.dst != peer.mac || s.ranged) {
		return
	}
	peer.received, peer.receivedB = peer.received+arrived, peer.receivedB+arrived*s.bytes
	if s.latency {
		s.dropped += n - arrived
		for range arrived {
			s.times.add()
		}
	}
	if s.latency || !run.frozen {
		s.received += arrived
	}
}

func (f *fakeServer) activeGroups(map[string]any) (any, *fakeError) {
	flows, latency := []int{}, []int{}
	for group, streams := range byGroup(f.counted()) {
		if streams[0].latency {
			latency = append(latency, group)
		} else {
			flows = append(flows, group)
		}
	}
	slices.Sort(flows)
	slices.Sort(latency)
	return map[string]any{"ids": map[string]any{"flow_stats": flows, "latency": latency}}, nil
}

// counted are all streams that are counted, with the port that they are on.
func (f *fakeServer) counted() (out []*fakeStream) {
	for _, p := range f.ports {
		for _, one := range p.profiles {
			for _, s := range one.streams {
				s.port = p.index
				if s.enabled {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// groupStats leaves out what is zero of latency, and is null where there is
// nothing.
func (f *fakeServer) groupStats(q map[string]any) (any, *fakeError) {
	asked, _ := q["pgids"].([]any)
	var flows, versions map[string]any
	latency := map[string]any{"g": nil}
	for group, streams := range byGroup(f.counted()) {
		if !slices.Contains(asked, any(float64(group))) {
			continue
		}
		if flows == nil {
			flows, versions = map[string]any{}, map[string]any{}
		}
		key := strconv.Itoa(group)
		var sent, received, sentB, receivedB [2]uint64
		for _, p := range f.ports {
			received[p.index] = p.arrived[group]
		}
		for _, s := range streams {
			sent[s.port], sentB[s.port] = sent[s.port]+s.sent, sentB[s.port]+s.sent*s.bytes
			received[1-s.port], receivedB[1-s.port] = received[1-s.port]+s.received, receivedB[1-s.port]+s.received*s.bytes
			if s.latency && s.received > 0 {
				latency[key] = f.latencyAnswer(s)
			}
		}
		each := func(n [2]uint64) any { return map[string]any{"0": n[0], "1": n[1]} }
		still := map[string]any{"0": 0.0, "1": 0.0}
		flows[key] = map[string]any{
			"tp": each(sent), "tb": each(sentB), "rp": each(received), "rb": each(receivedB),
			"tps": still, "tbs": still, "rps": still, "rbs": still,
		}
		versions[key] = streams[0].version
	}
	return map[string]any{"flow_stats": orNull(flows), "latency": latency, "ver_id": orNull(versions)}, nil
}

func orNull(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// Filters that let tagged frames pass: each vlan moves what comes after it by one tag.
const (
	taggedARP   = "arp or (vlan and arp) or (vlan and arp)"
	taggedICMP6 = "icmp6 or (vlan and icmp6) or (vlan and icmp6)"
)

// fakeCapture is a capture of what a port receives.
type fakeCapture struct {
	port    int
	filter  string
	packets [][]byte
}

func (f *fakeServer) capture(q map[string]any) (any, *fakeError) {
	id := number(q, "capture_id")
	c := f.captures[id]
	switch command := fmt.Sprint(q["command"]); {
	case command == "start":
		filter := fmt.Sprint(q["filter"])
		if filter != "arp" && filter != "icmp6" && filter != taggedARP && filter != taggedICMP6 {
			return nil, &fakeError{-32602, "Bad parameters for method", fmt.Sprintf("BPF filter: '%s' is not a valid pattern", filter)}
		}
		rx, _ := q["rx"].([]any)
		if len(rx) != 1 {
			return nil, refused("this fake captures on one port")
		}
		id = len(f.captures) + 1
		f.captures[id] = &fakeCapture{port: int(rx[0].(float64)), filter: filter}
		return map[string]any{"capture_id": id, "start_ts": 2.9}, nil
	case c == nil:
		return nil, refused("capture ID not found")
	case command == "fetch":
		packets := []any{}
		for i, b := range c.packets {
			packets = append(packets, map[string]any{
				"binary": base64.StdEncoding.EncodeToString(b), "index": i + 1, "origin": "RX", "port": c.port, "ts": 2.94, "wirelen": len(b),
			})
		}
		c.packets = nil
		return map[string]any{"pending": 0, "pkts": packets, "start_ts": 2.9}, nil
	case command == "stop":
		return map[string]any{"endpoint": "", "pkt_count": len(c.packets)}, nil
	case command == "remove":
		delete(f.captures, id)
		return map[string]any{}, nil
	}
	return nil, refused("bad capture command")
}

// push sends frames, which hosts answer if they are questions to them. The port
// has to be in service mode for the answers to be captured.
func (f *fakeServer) push(p *fakePort, q map[string]any) (any, *fakeError) {
	list, _ := q["pkts"].([]any)
	for _, one := range list {
		b, err := base64.StdEncoding.DecodeString(fmt.Sprint(one.(map[string]any)["binary"]))
		if err != nil {
			return nil, refused("bad packet")
		}
		question, ok := f.vlans.Untag(b)
		if !ok {
			continue
		}
		for addr, mac := range f.hosts {
			kind, reply := hostAnswer(question, addr, mac)
			if kind == "arp" && len(f.vlans) > 0 {
				kind = taggedARP
			} else if len(f.vlans) > 0 {
				kind = taggedICMP6
			}
			for _, c := range f.captures {
				if reply != nil && p.inService && c.port == p.index && c.filter == kind {
					c.packets = append(c.packets, f.vlans.Tag(reply))
				}
			}
		}
	}
	return map[string]any{"sent": len(list), "ts": 2.93}, nil
}

// hostAnswer returns the answer of the host of an address to a frame, if any, and the filter
// that lets it through.
func hostAnswer(b []byte, addr netip.Addr, mac traffic.MAC) (string, []byte) {
	asker := traffic.MAC(b[6:12])
	if addr.Is4() {
		target, _ := netip.AddrFromSlice(b[38:42])
		if b[12] != 0x08 || b[13] != 0x06 || b[21] != 1 || target != addr {
			return "", nil
		}
		source, _ := netip.AddrFromSlice(b[28:32])
		reply := arpRequest(mac, addr, source)[:42]
		copy(reply, asker[:])
		reply[21] = 2
		copy(reply[32:], asker[:])
		return "arp", reply
	}
	if len(b) < 86 || b[12] != 0x86 || b[13] != 0xdd || b[54] != 135 {
		return "", nil
	}
	target, _ := netip.AddrFromSlice(b[62:78])
	if target != addr {
		return "", nil
	}
	reply := slices.Clone(b)
	copy(reply, asker[:])
	copy(reply[6:], mac[:])
	reply[54], reply[78] = 136, 2
	copy(reply[80:], mac[:])
	return "icmp6", reply
}
