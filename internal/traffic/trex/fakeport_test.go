package trex

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
)

// fakePort is a port of the fake server.
type fakePort struct {
	index       int
	mac         traffic.MAC
	owner       string
	session     int
	handler     string
	promiscuous bool
	inService   bool
	src, dst    string
	tags        []any
	profiles    map[string]*fakeProfile
	// arrived are frames of another server, by group.
	arrived map[int]uint64
	// ring holds frames, by group, that arrived but were not counted yet.
	ring               map[int]uint64
	received, sent     uint64
	receivedB, sentB   uint64
	inErrors, outError uint64
}

func newFakePort(index int) *fakePort {
	p := &fakePort{index: index, mac: traffic.MAC{2, 0, 0, 0, byte(index), 1}, profiles: map[string]*fakeProfile{}, arrived: map[int]uint64{}, ring: map[int]uint64{}}
	p.profiles["_"] = newFakeProfile("_")
	return p
}

func (f *fakeServer) acquire(p *fakePort, q map[string]any) (any, *fakeError) {
	user, session := fmt.Sprint(q["user"]), number(q, "session_id")
	if force, _ := q["force"].(bool); !force && p.owner != "" {
		if p.owner != user {
			return nil, refused("port is already taken by '%s'", p.owner)
		}
		if p.session != session {
			return nil, refused("port is already owned by another session of '%s'", p.owner)
		}
	}
	if p.owner != user || p.session != session {
		f.handlers++
		p.handler = fmt.Sprintf("h%07d", f.handlers)
	}
	p.owner, p.session = user, session
	f.event(5, map[string]any{"force": q["force"], "port_id": p.index, "session_id": session, "who": user})
	return p.handler, nil
}

func (f *fakeServer) release(p *fakePort, _ map[string]any) (any, *fakeError) {
	p.owner, p.handler = "", ""
	return map[string]any{}, nil
}

func (f *fakeServer) setAttr(p *fakePort, q map[string]any) (any, *fakeError) {
	p.promiscuous, _ = object(object(q, "attr"), "promiscuous")["enabled"].(bool)
	return map[string]any{}, nil
}

func (f *fakeServer) service(p *fakePort, q map[string]any) (any, *fakeError) {
	if p.state() == "TX" {
		return nil, p.profiles["_"].notIn("service")
	}
	p.inService, _ = q["enabled"].(bool)
	return map[string]any{}, nil
}

func (f *fakeServer) setVLAN(p *fakePort, q map[string]any) (any, *fakeError) {
	if p.state() == "TX" {
		return nil, refused("command 'set_vlan' cannot be executed on current state: '%s'", p.state())
	}
	p.tags, _ = q["vlan"].([]any)
	return map[string]any{}, nil
}

func (f *fakeServer) setL3(p *fakePort, q map[string]any) (any, *fakeError) {
	if p.state() == "TX" {
		return nil, refused("command 'set_l3_mode' cannot be executed on current state: '%s'", p.state())
	}
	p.src, p.dst = fmt.Sprint(q["src_addr"]), fmt.Sprint(q["dst_addr"])
	return map[string]any{}, nil
}

func (f *fakeServer) portStatus(p *fakePort, q map[string]any) (any, *fakeError) {
	highest := 0
	for _, one := range p.profiles {
		for id := range one.streams {
			highest = max(highest, id)
		}
	}
	ipv4, arp := map[string]any{"state": "none"}, map[string]any{"is_active": false}
	if p.src != "" {
		ipv4 = map[string]any{"dst": p.dst, "src": p.src, "state": "resolved"}
		arp = map[string]any{"interval_sec": 120, "is_active": true}
	}
	off := map[string]any{"is_active": false}
	answer := map[string]any{
		"attr": map[string]any{
			"fc": map[string]any{"mode": -1}, "link": map[string]any{"up": true}, "multicast": map[string]any{"enabled": false},
			"layer_cfg": map[string]any{
				"ether": map[string]any{"dst": "02:00:00:00:00:02", "src": p.mac.String(), "state": "configured"},
				"ipv4":  ipv4, "ipv6": map[string]any{"enabled": false},
			},
			"promiscuous": map[string]any{"enabled": p.promiscuous}, "rx_filter_mode": "hw", "speed": 10.0,
			"vlan": map[string]any{"tags": p.tags}, "vxlan_fs": []int{},
		},
		"max_stream_id": highest, "owner": p.owner, "profile_count": len(p.profiles),
		"rx_info": map[string]any{
			"capture_port": off, "capwap_proxy": off, "grat_arp": arp, "latency": off, "queue": off, "stack": map[string]any{"is_active": true},
		},
		"service": p.inService, "service_filtered": false, "state": p.state(),
	}
	if q["profile_id"] != nil {
		one, err := p.profile(q)
		if err != nil {
			return nil, err
		}
		answer["state_profile"] = one.state()
	}
	return answer, nil
}

// portCounters count a few of the frames in the ring each time.
func (f *fakeServer) portCounters(p *fakePort, _ map[string]any) (any, *fakeError) {
	const step = 100
	for group, n := range p.ring {
		n = min(n, step)
		p.ring[group] -= n
		p.received += n
		for _, from := range f.ports {
			for _, s := range from.profiles["_"].streams {
				if s.group == group {
					s.received += n
				}
			}
		}
		if p.ring[group] == 0 {
			delete(p.ring, group)
		}
	}
	return map[string]any{
		"ibytes": p.receivedB, "ierrors": p.inErrors, "ipackets": p.received, "m_cpu_util": 0.0, "m_total_rx_bps": 0.0, "m_total_rx_pps": 0.0,
		"m_total_tx_bps": 0.0, "m_total_tx_pps": 0.0, "obytes": p.sentB, "oerrors": p.outError, "opackets": p.sent,
	}, nil
}

func (f *fakeServer) streamList(p *fakePort, _ map[string]any) (any, *fakeError) {
	return slices.Collect(maps.Keys(p.profiles["_"].streams)), nil
}

// fakeStream is a stream of a port, with counters that continue from run to run.
type fakeStream struct {
	group, version int
	// number is the hardware number under which frames leave.
	number         int
	port           int
	enabled        bool
	latency        bool
	paused         bool
	pps            float64
	total          uint64 // 0 is continuous
	delay          float64
	bytes          uint64 // with FCS
	dst            traffic.MAC
	ranged         bool // the destination address changes
	sent, received uint64
	inRun          uint64
	dropped        uint64
	times          fakeTimes
}

// required are the fields that a stream must have, each of which was left out of
// a recorded request.
var required = []string{"enabled", "self_start", "flags", "action_count", "isg", "next_stream_id", "mode", "packet", "vm", "flow_stats"}

func (f *fakeServer) addStream(p *fakePort, q map[string]any) (any, *fakeError) {
	spec, id := object(q, "stream"), number(q, "stream_id")
	in := p.profiles[fmt.Sprint(q["profile_id"])]
	switch {
	case in == nil:
		in = newFakeProfile(fmt.Sprint(q["profile_id"]))
		p.profiles[in.id] = in
	case in.sending:
		return nil, in.notIn("add_stream")
	}
	for _, name := range required {
		if spec[name] == nil {
			return nil, badStream(name)
		}
	}
	mode, rate := object(spec, "mode"), object(object(spec, "mode"), "rate")
	if rate == nil {
		return nil, badStream("rate")
	}
	if in.streams[id] != nil {
		return nil, refused("stream %d already exists in profile_id(%s)", id, in.id)
	}
	if err := checkVM(object(spec, "vm")); err != nil {
		return nil, err
	}
	packet, err := base64.StdEncoding.DecodeString(fmt.Sprint(object(spec, "packet")["binary"]))
	if err != nil || len(packet) < 14 {
		return nil, refused("bad packet")
	}
	s := &fakeStream{dst: traffic.MAC(packet[:6]), bytes: uint64(len(packet) + 4), version: f.versions}
	f.versions++
	s.delay, _ = spec["isg"].(float64)
	value, _ := rate["value"].(float64)
	switch rate["type"] {
	case "pps":
		s.pps = value
	case "percentage":
		s.pps = 10e9 * value / 100 / float64(8*(s.bytes+20))
	default:
		return nil, refused("bad rate")
	}
	if mode["type"] == "single_burst" {
		total, _ := mode["total_pkts"].(float64)
		if total < 1 || total > 4294967295 || total != float64(uint64(total)) {
			return nil, badStream("total_pkts")
		}
		s.total = uint64(total)
	}
	stats := object(spec, "flow_stats")
	if s.enabled, _ = stats["enabled"].(bool); s.enabled {
		s.group, s.latency = number(stats, "stream_id"), stats["rule_type"] == "latency"
	}
	s.paused, _ = spec["start_paused"].(bool)
	if others := f.ofGroup(s.group); s.enabled && len(others) > 0 {
		if s.latency || others[0].latency {
			return nil, refused("pg_id %d is in use", s.group)
		}
		s.version = others[0].version
	}
	for _, i := range object(spec, "vm")["instructions"].([]any) {
		one := i.(map[string]any)
		s.ranged = s.ranged || one["type"] == "write_flow_var" && number(one, "pkt_offset") < 6
	}
	in.streams[id] = s
	in.most = max(in.most, len(in.streams))
	return map[string]any{}, nil
}

// badStream returns the error for a field that a stream lacks. It differs from the error for
// other fields.
func badStream(name string) *fakeError { return refused("field '%s' value is null", name) }

// checkVM refuses instructions that lack a field.
func checkVM(vm map[string]any) *fakeError {
	list, ok := vm["instructions"].([]any)
	if !ok {
		return badStream("instructions")
	}
	need := map[string][]string{
		"flow_var":            {"name", "size", "op", "step"},
		"write_flow_var":      {"name", "pkt_offset", "add_value", "is_big_endian"},
		"fix_checksum_ipv4":   {"pkt_offset"},
		"fix_checksum_icmpv6": {"l2_len", "l3_len"},
	}
	for _, i := range list {
		in := i.(map[string]any)
		kind := fmt.Sprint(in["type"])
		fields := need[kind]
		values, listed := in["value_list"].([]any)
		if listed && len(values) == 0 {
			return refused("VM: step cannot be bigger than list size")
		}
		if kind == "flow_var" && !listed {
			fields = append(slices.Clone(fields), "init_value", "min_value", "max_value")
		}
		if fields == nil {
			return badStream("type")
		}
		for _, name := range fields {
			if in[name] == nil {
				return badStream(name)
			}
		}
	}
	return nil
}
