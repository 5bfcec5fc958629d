package trex

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
)

// fakeProfile is what a port of the fake has of another profile than the default:
// streams that are sent to nobody and counted nowhere.
type fakeProfile struct {
	streams map[int]fakeTell
	sending bool
}

// fakeTell is a stream of such a profile.
type fakeTell struct {
	packet       []byte
	pps          float64
	instructions []any
}

// busy says whether any profile of the port sends.
func (p *fakePort) busy() bool {
	for _, other := range p.others {
		if other.sending {
			return true
		}
	}
	return p.state() == "TX"
}

// whole is the state of a port, that of all its profiles.
func (p *fakePort) whole() string {
	if p.busy() {
		return "TX"
	}
	for _, other := range p.others {
		if len(other.streams) > 0 {
			return "STREAMS"
		}
	}
	return p.state()
}

// of is the state of one profile.
func (p *fakePort) of(id string) string {
	other := p.others[id]
	switch {
	case id == profile:
		return p.state()
	case other == nil || len(other.streams) == 0:
		return "IDLE"
	case other.sending:
		return "TX"
	}
	return "STREAMS"
}

// profiles are those that ever were on the port.
func (f *fakeServer) profiles(p *fakePort, _ map[string]any) (any, *fakeError) {
	return append(slices.Collect(maps.Keys(p.others)), profile), nil
}

// ofProfile does what is asked of another profile than the default. Streams make it,
// and what is asked of one that is not there is refused, except to remove streams.
func (f *fakeServer) ofProfile(p *fakePort, id, method string, q map[string]any) (any, *fakeError) {
	other := p.others[id]
	if other == nil && method == "add_stream" {
		other = &fakeProfile{streams: map[int]fakeTell{}}
		p.others[id] = other
	}
	if other == nil {
		if method == "remove_all_streams" {
			return map[string]any{}, nil
		}
		return nil, refused("profile_id %s does not exists", id)
	}
	switch method {
	case "add_stream":
		spec := object(q, "stream")
		for _, name := range required {
			if spec[name] == nil {
				return nil, badStream(name)
			}
		}
		if enabled, _ := object(spec, "flow_stats")["enabled"].(bool); enabled || other.sending {
			return nil, refused("the fake takes only streams without counters here, and none while they are sent")
		}
		packet, err := base64.StdEncoding.DecodeString(fmt.Sprint(object(spec, "packet")["binary"]))
		if err != nil {
			return nil, refused("bad packet")
		}
		if err := checkVM(object(spec, "vm")); err != nil {
			return nil, err
		}
		pps, _ := object(object(spec, "mode"), "rate")["value"].(float64)
		other.streams[number(q, "stream_id")] = fakeTell{packet, pps, object(spec, "vm")["instructions"].([]any)}
	case "start_traffic":
		if len(other.streams) == 0 || other.sending {
			return nil, refused("command 'start' cannot be executed on current state of profile_id(%s).", id)
		}
		other.sending = true
		return map[string]any{"multiplier": 1.0, "ts": 3.76}, nil
	case "stop_traffic":
		other.sending = false
	case "remove_rx_filters":
		if p.of(id) != "STREAMS" {
			return nil, refused("command 'remove_rx_filters' cannot be executed on current state: '%s on profile_id(%s).", p.of(id), id)
		}
	case "remove_all_streams":
		if other.sending {
			return nil, refused("command 'remove_and_delete_all_streams' cannot be executed on current state: 'TX on profile_id(%s).", id)
		}
		other.streams = map[int]fakeTell{}
	default:
		return nil, refused("the fake does no %s of profile %s", method, id)
	}
	return map[string]any{}, nil
}
