package trex

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

const (
	ruleStats   = "stats"
	ruleLatency = "latency"
	// flagsFromPacket tells the server to take both hardware addresses from the
	// packet and not from the port.
	flagsFromPacket = 3
	// maxBurst is the longest burst that the server takes, in frames.
	maxBurst = math.MaxUint32
	// unlimited stands for a number of frames that only a duration bounds.
	unlimited = math.MaxUint64
)

// stream is a traffic.Stream as the server gets it.
type stream struct {
	traffic.Stream
	// rule is how the stream is counted.
	rule string
	// packet is the frame without FCS.
	packet []byte
	// vm are the instructions that change it from frame to frame.
	vm []params
}

// group is the number by which the server counts the stream, its pg_id.
func (s stream) group() int { return int(s.ID) + 1 }

// newStream builds the packet and its instructions.
func newStream(t traffic.Stream, src traffic.MAC) (stream, error) {
	h := t.Headers
	if err := supported(t); err != nil {
		return stream{}, err
	}
	if h.SrcMAC == (traffic.MAC{}) {
		h.SrcMAC = src
	}
	p := frame.Packet{
		SrcMAC: h.SrcMAC, DstMAC: h.DstMAC, VLAN: h.VLAN.ID, Priority: h.VLAN.Priority,
		TrafficClass: h.TrafficClass, Src: h.SrcIP, Dst: h.DstIP,
		SrcPort: h.SrcPort, DstPort: h.DstPort, TTL: h.TTL, Size: t.FrameSize,
	}
	packet, err := p.Build(frame.Signature{Stream: t.ID})
	if err != nil {
		return stream{}, fmt.Errorf("stream %d: %w", t.ID, err)
	}
	vm, err := instructions(h, p.NetworkOffset())
	if err != nil {
		return stream{}, fmt.Errorf("stream %d: %w", t.ID, err)
	}
	return stream{Stream: t, rule: ruleStats, packet: packet, vm: vm}, nil
}

// supported says why the server cannot send and count a stream.
func supported(t traffic.Stream) error {
	h := t.Headers
	switch {
	case !h.SrcIP.IsValid():
		return fmt.Errorf("stream %d has no network layer, and TRex counts frames by a mark in their IP header: give it addresses: %w", t.ID, traffic.ErrUnsupported)
	case len(h.Labels) > 0:
		return fmt.Errorf("stream %d has MPLS labels, under which TRex does not look for its mark: %w", t.ID, traffic.ErrUnsupported)
	case h.SrcIP.Is6() && max(h.SrcIPCount, h.DstIPCount, h.SrcPortCount, h.DstPortCount) > 1:
		return fmt.Errorf("stream %d has IPv6 and a range of addresses or ports, of which TRex cannot put the UDP checksum right in software: use IPv4, or one address and port: %w", t.ID, traffic.ErrUnsupported)
	}
	return nil
}

// timeable says whether a stream can be one of the latency streams: the mark of
// those overwrites payload, which would spoil the UDP checksum of IPv6.
func timeable(t traffic.Stream) bool { return t.Headers.SrcIP.Is4() }

// add is the call that puts the stream into the server under a load. share is the
// percentage of line rate that stands for as fast as it can.
func (s stream) add(p *port, load traffic.Load, n uint64, share float64) call {
	rate := params{"type": "percentage", "value": share}
	if !load.Max {
		rate = params{"type": "pps", "value": framesPerSecond(load.Rate)}
	}
	mode := params{"type": "single_burst", "total_pkts": n, "rate": rate}
	if n > maxBurst {
		mode = params{"type": "continuous", "rate": rate}
	}
	stats := params{"enabled": true, "stream_id": s.group(), "rule_type": s.rule, "vxlan": false, "ieee_1588": false}
	return call{"add_stream", p.streams(params{"stream_id": s.group(), "stream": params{
		"enabled": true, "self_start": true, "start_paused": false, "flags": flagsFromPacket,
		"action_count": 0, "isg": float64(load.Delay) / float64(time.Microsecond), "next_stream_id": -1, "core_id": -1,
		"mode":       mode,
		"packet":     params{"binary": base64.StdEncoding.EncodeToString(s.packet), "meta": ""},
		"vm":         params{"instructions": s.vm},
		"flow_stats": stats,
	}})}
}

// framesPerSecond is the rate in the server's unit: the double nearest to it.
func framesPerSecond(r traffic.Rate) float64 {
	pps, _ := frame.FramesPerSecond(r).Float64()
	return pps
}

// intended is the number of frames that a load asks for in a trial of duration
// d: rate times duration, rounded down, at least one.
func intended(load traffic.Load, d time.Duration) uint64 {
	n := uint64(unlimited)
	if load.Frames > 0 {
		n = load.Frames
	}
	if d > 0 && !load.Max {
		rated := new(big.Int).Mul(big.NewInt(int64(max(0, d-load.Delay))), big.NewInt(load.Rate.Frames))
		rated.Quo(rated, big.NewInt(load.Rate.PerNanos))
		if rated.IsUint64() {
			n = min(n, max(1, rated.Uint64()))
		}
	}
	return n
}
