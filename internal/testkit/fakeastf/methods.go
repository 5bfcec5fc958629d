package fakeastf

import (
	"crypto/md5" //nolint:gosec // what the server uses
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// handler is a method of the server.
type handler func(p map[string]any) (any, *rpcError)

// method answers a method.
func (s *Server) method(name string, p map[string]any) (any, *rpcError) {
	switch name {
	case "get_version":
		return result("get_version", 0), nil
	case "ping":
		return map[string]any{"ts": float64(time.Now().UnixNano()) / 1e9}, nil
	case "api_sync_v2":
		if p["name"] != "ASTF" {
			return nil, refused("RPC configuration mismatch - server RPC configuration: 'ASTF', client RPC configuration: '%v'", p["name"])
		}
		return map[string]any{"api_h": s.sync}, nil
	}
	if p["api_h"] != s.sync {
		return nil, refused("API verification failed - API handler provided mismatch for class: 'common'")
	}
	free := map[string]handler{
		"get_system_info": s.systemInfo, "get_async_events": s.asyncEvents, "sync": s.profileStates, "acquire": s.acquire,
		"get_counter_desc": s.counterDesc, "get_counter_values": s.counterValues, "get_total_counter_values": s.counterValues,
		"get_global_stats": s.globalStats, "capture": s.capture,
	}
	owned := map[string]handler{
		"release": s.release, "profile_clear": s.profileClear, "profile_fragment": s.profileFragment, "start": s.start, "stop": s.stop,
		"service": s.nothing,
	}
	onPort := map[string]handler{"set_l3": s.nothing, "set_vlan": s.nothing, "push_pkts": s.push, "set_port_attr": s.nothing}
	switch {
	case free[name] != nil:
		return free[name](p)
	case owned[name] != nil:
		if s.context == "" || p["handler"] != s.context {
			return nil, refused("must acquire the context for this operation")
		}
		return owned[name](p)
	case onPort[name] != nil:
		if i := int(number(p, "port_id")); i > 1 || p["handler"] != s.ports[i] {
			return nil, refused("port is not owned by you or your current executing session")
		}
		return onPort[name](p)
	}
	return nil, &rpcError{Code: -32601, Message: fmt.Sprintf("Method %s not registered", name)}
}

func (s *Server) nothing(map[string]any) (any, *rpcError) { return map[string]any{}, nil }

func (s *Server) systemInfo(map[string]any) (any, *rpcError) {
	info := result("get_system_info", 0).(map[string]any)
	info["uptime"] = fmt.Sprintf("Nov 21 2026 @ 01:32:%02d", s.starts)
	info["dp_core_count"] = max(1, s.behavior.Cores)
	return info, nil
}

func (s *Server) asyncEvents(map[string]any) (any, *rpcError) {
	events := s.events
	s.events = nil
	if events == nil {
		events = []any{}
	}
	return map[string]any{"data": events}, nil
}

func (s *Server) acquire(p map[string]any) (any, *rpcError) {
	if s.context != "" && p["force"] != true {
		return nil, refused("context is already taken (use 'force' argument to override)")
	}
	s.own()
	return map[string]any{"handler": s.context, "ports": map[string]any{"0": s.ports[0], "1": s.ports[1]}}, nil
}

func (s *Server) release(map[string]any) (any, *rpcError) {
	s.context, s.ports = "", [2]string{}
	return nil, nil
}

// arpReply returns the answer of the neighbor that a frame asks for.
func arpReply(question []byte) []byte {
	if len(question) < 42 || binary.BigEndian.Uint16(question[12:]) != 0x0806 {
		return nil
	}
	answer := slices.Clone(question)
	gateway := []byte{2, 0, 0, 0, 0xd, 0xe}
	copy(answer, question[6:12])
	copy(answer[6:], gateway)
	binary.BigEndian.PutUint16(answer[20:], 2)
	copy(answer[22:], gateway)
	copy(answer[28:], question[38:42])
	copy(answer[32:], question[22:32])
	return answer
}

func (s *Server) push(p map[string]any) (any, *rpcError) {
	packets, _ := p["pkts"].([]any)
	for _, one := range packets {
		packet, _ := one.(map[string]any)
		frame, err := base64.StdEncoding.DecodeString(fmt.Sprint(packet["binary"]))
		if err != nil {
			return nil, refused("%v", err)
		}
		s.questions = append(s.questions, frame)
	}
	return map[string]any{}, nil
}

func (s *Server) capture(p map[string]any) (any, *rpcError) {
	switch p["command"] {
	case "status":
		return []any{}, nil
	case "start":
		s.questions = nil
		return map[string]any{"capture_id": 1, "start_ts": 0.0}, nil
	case "fetch":
		packets := []any{}
		for _, q := range s.questions {
			if answer := arpReply(q); answer != nil {
				packets = append(packets, map[string]any{"binary": base64.StdEncoding.EncodeToString(answer)})
			}
		}
		return map[string]any{"pkts": packets, "pending": 0, "start_ts": 0.0}, nil
	}
	return map[string]any{}, nil
}

// states are the states of profiles and of the server.
const (
	stateIdle, stateLoaded, stateParse, stateBuild, stateRun = 0, 1, 2, 3, 4
)

// profile is a profile that was loaded under a name.
type profile struct {
	text, digest string
	state        int
	begin        time.Time
	run          *run
}

func (s *Server) states() (all []int) {
	for _, p := range s.profiles {
		all = append(all, p.state)
	}
	return all
}

func (s *Server) profileStates(map[string]any) (any, *rpcError) {
	profiles, most := map[string]any{}, 0
	for id, p := range s.profiles {
		profiles[id], most = p.state, max(most, p.state)
	}
	return map[string]any{"epoch": 0, "state": most, "state_profile": profiles}, nil
}

// at returns the profile that a request names.
func (s *Server) at(p map[string]any) *profile {
	id, _ := p["profile_id"].(string)
	if s.profiles[id] == nil {
		s.profiles[id] = &profile{}
	}
	return s.profiles[id]
}

// resting refuses a profile that is in use.
func (p *profile) resting() *rpcError {
	if p.state != stateIdle && p.state != stateLoaded {
		return refused("Invalid profile state")
	}
	return nil
}

func (s *Server) profileClear(p map[string]any) (any, *rpcError) {
	one := s.at(p)
	if e := one.resting(); e != nil {
		return nil, e
	}
	*one = profile{}
	return nil, nil
}

func (s *Server) profileFragment(p map[string]any) (any, *rpcError) {
	one := s.at(p)
	if e := one.resting(); e != nil {
		return nil, e
	}
	if p["frag_first"] == true {
		digest, _ := p["md5"].(string)
		*one = profile{digest: digest}
	}
	one.text += fmt.Sprint(p["fragment"])
	if p["frag_last"] != true {
		return nil, nil
	}
	digest := md5.Sum([]byte(one.text)) //nolint:gosec // as above
	if one.digest != "" && one.digest != hex.EncodeToString(digest[:]) {
		s.problems = append(s.problems, "the digest of the profile is wrong")
	}
	one.state = stateLoaded
	return nil, nil
}

func (s *Server) start(p map[string]any) (any, *rpcError) {
	one := s.at(p)
	if one.state != stateLoaded {
		return nil, refused("Invalid profile state")
	}
	r, err := newRun(one.text, number(p, "mult"), number(p, "duration"), s.behavior)
	if err != nil {
		s.problems = append(s.problems, err.Error())
		return nil, refused("%v", err)
	}
	one.run, one.state, one.begin = r, stateParse, time.Now()
	return nil, nil
}

func (s *Server) stop(p map[string]any) (any, *rpcError) {
	if one := s.at(p); one.state == stateRun {
		one.end(time.Now())
	}
	return nil, nil
}

// end ends a run, whose counters stay.
func (p *profile) end(now time.Time) {
	p.run.ended = p.run.since(p.begin, now)
	p.run.stopped, p.state = true, stateLoaded
}

// step is the time that the server needs to parse and to build a profile.
const step = 15 * time.Millisecond

// advance brings profiles to their state.
func (s *Server) advance(now time.Time) {
	for id, p := range s.profiles {
		if p.state == stateParse && now.Sub(p.begin) >= step {
			if p.state = stateBuild; s.behavior.BuildError != "" {
				p.state = stateLoaded
				s.events = append(s.events, map[string]any{"name": "trex-event", "type": 60, "data": map[string]any{
					"profile_id": id, "state": stateLoaded, "epoch": 0, "error": s.behavior.BuildError,
				}})
			}
		}
		if p.state == stateBuild && now.Sub(p.begin) >= 2*step {
			p.state, p.begin = stateRun, now
		}
		if p.state == stateRun && p.run.since(p.begin, now) >= p.run.duration {
			p.end(now)
		}
	}
}
