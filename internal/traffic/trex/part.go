package trex

import (
	"encoding/base64"
	"maps"
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// sending is a stream in a trial.
type sending struct {
	stream
	// intended is the number of frames of all parts.
	intended uint64
	// parts are the one or two that the server has of it.
	parts []part
}

// part is a stream of the server. It sends some of the frames of a stream: those
// that are counted only, or the probe, whose frames travel among them and are timed
// as well.
type part struct {
	*stream
	// rule is the server's counting rule for the part.
	rule string
	// rate is in the server's terms.
	rate params
	// frames is the number of frames that it sends. Its ranges continue after the first
	// from frames of the stream: both parts together send what one would send.
	frames, from uint64
	// delay is the time at which it begins.
	delay time.Duration
}

// phase reports whether a stream has a probe, and when the first frame of the probe leaves: at
// a share of the time between two of them, above 0 and below 1.
type phase struct {
	timed bool
	at    float64
}

// phases of n streams that send. As many streams as the server times have probes, evenly
// spread over all. The frames of probes leave one after the other and not at once,
// since one core of the server receives them all.
func phases(n int) []phase {
	out := make([]phase, n)
	timed := min(n, maxLatencyStreams)
	for i := range out {
		number := i * timed / n
		out[i] = phase{(i+1)*timed/n > number, (float64(number) + 0.5) / float64(timed)}
	}
	return out
}

// timeable reports whether the latency of a stream can be attributed to a receiving port:
// the server reports it for a stream, not for a port, and for its own ports only. With
// several servers the stream needs a place for its probe, see list.
func (e *Engine) timeable(s stream) bool {
	if e.armed != nil && !e.armed.places[s.ID] {
		return false
	}
	return e.server.options.TimedFramesPerSecond > 0 && len(s.RxPorts) == 1 && e.server.named(s.RxPorts[0]) != nil
}

// split makes the parts of a stream that sends n frames under a load in a trial of
// duration d, with perSecond frames timed. fast is the percentage of line rate that
// means as fast as it can.
func (s *stream) split(load traffic.Load, n uint64, d time.Duration, perSecond int, ph phase, fast float64) []part {
	rest := part{stream: s, rule: ruleStats, frames: n, delay: load.Delay}
	if load.Max {
		rest.rate = params{"type": "percentage", "value": fast}
	} else {
		rest.rate = pps(load.Rate.FramesPerSecond())
	}
	if !ph.timed {
		return []part{rest}
	}
	probe := rest
	probe.rule, probe.frames = ruleLatency, probeFrames(load, n, d, perSecond)
	if probe.frames == n {
		return []part{probe}
	}
	rest.frames, rest.from = n-probe.frames, probe.frames
	each := big.NewRat(int64(perSecond), 1) // frames of the probe per second
	if load.Max {
		// The frames that are timed come on top of a line that is full already: so few
		// that the port sends them in place of others.
		probe.rate = pps(each)
	} else {
		// Both parts take as long as one would, at rates that add up to its rate.
		all := load.Rate.FramesPerSecond()
		each = new(big.Rat).Mul(all, new(big.Rat).SetFrac(big.NewInt(0).SetUint64(probe.frames), big.NewInt(0).SetUint64(n)))
		probe.rate, rest.rate = pps(each), pps(new(big.Rat).Sub(all, each))
	}
	if !load.Max || n == unlimited {
		perFrame, _ := each.Inv(each).Float64()
		probe.delay += time.Duration(ph.at * perFrame * float64(time.Second))
	}
	return []part{rest, probe}
}

// probeFrames returns how many of n frames are timed: perSecond times the seconds in which
// they are sent, rounded up, at most n. Frames at a rate take the same time whether their
// number or a duration ends them. The duration of a burst at full speed is not known in
// advance, so only one of its frames is timed, which leaves with the first.
func probeFrames(load traffic.Load, n uint64, d time.Duration, perSecond int) uint64 {
	seconds := big.NewRat(int64(max(0, d-load.Delay)), int64(time.Second))
	switch {
	case !load.Max:
		seconds.SetFrac(new(big.Int).SetUint64(n), big.NewInt(1))
		seconds.Quo(seconds, load.Rate.FramesPerSecond())
	case n != unlimited:
		return 1
	}
	timed := seconds.Mul(seconds, big.NewRat(int64(perSecond), 1))
	up := new(big.Int).Add(timed.Num(), new(big.Int).Sub(timed.Denom(), big.NewInt(1)))
	if up.Quo(up, timed.Denom()); !up.IsUint64() {
		return n
	}
	return min(n, max(1, up.Uint64()))
}

// pps is a rate in the server's unit: the double nearest to it.
func pps(framesPerSecond *big.Rat) params {
	value, _ := framesPerSecond.Float64()
	return params{"type": "pps", "value": value}
}

// group is the number by which the server knows and counts the part, its pg_id.
// Probes have theirs above those of all streams.
func (p part) group() int {
	if p.rule == ruleLatency {
		return maxStreamID + 1 + int(p.ID) + 1
	}
	return int(p.ID) + 1
}

// add is the call that puts the part into the server.
func (p part) add(to *port) (call, error) {
	vm, err := p.instructions(p.rule, p.from)
	if err != nil {
		return call{}, err
	}
	mode := params{"type": "single_burst", "total_pkts": p.frames, "rate": p.rate}
	if p.frames > maxBurst {
		mode = params{"type": "continuous", "rate": p.rate}
	}
	return call{"add_stream", to.streams(p.as(params{"mode": mode, "vm": params{"instructions": vm}}))}, nil
}

// as is the part as a stream of the server.
func (p part) as(more params) params {
	s := params{
		"enabled": true, "self_start": true, "start_paused": false, "flags": flagsFromPacket,
		"action_count": 0, "isg": float64(p.delay) / float64(time.Microsecond), "next_stream_id": -1, "core_id": -1,
		"packet":     params{"binary": base64.StdEncoding.EncodeToString(p.packet), "meta": ""},
		"flow_stats": params{"enabled": true, "stream_id": p.group(), "rule_type": p.rule, "vxlan": false, "ieee_1588": false},
	}
	maps.Copy(s, more)
	return params{"stream_id": p.group(), "stream": s}
}

// sent and received are the frames of all parts at a port since base was read.
func (s sending) sent(now, base counters, at *port) uint64 {
	var n uint64
	for _, p := range s.parts {
		n += now.sent(p, at) - base.sent(p, at)
	}
	return n
}

func (s sending) received(now, base counters, at *port) uint64 {
	var n uint64
	for _, p := range s.parts {
		n += now.received(p, at) - base.received(p, at)
	}
	return n
}

// probe is the part that is timed, if any.
func (s sending) probe() (part, bool) {
	for _, p := range s.parts {
		if p.rule == ruleLatency {
			return p, true
		}
	}
	return part{}, false
}

// open reports whether only time ends the sending: as fast as possible, or more frames
// than a burst can have.
func (s sending) open() bool {
	for _, p := range s.parts {
		if p.frames > maxBurst {
			return true
		}
	}
	return false
}
