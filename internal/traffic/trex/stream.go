package trex

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

const (
	ruleStats   = "stats"
	ruleLatency = "latency"
	// flagsFromPacket makes the server take both hardware addresses from the
	// packet and not from the port.
	flagsFromPacket = 3
	// maxBurst is the longest burst that the server takes, in frames.
	maxBurst = math.MaxUint32
	// unlimited is the number of frames of a trial that only a duration bounds.
	unlimited = math.MaxUint64
	// maxStreamID is the highest ID of a traffic.Stream.
	maxStreamID = math.MaxUint16
)

// stream is a traffic.Stream that the server can send.
type stream struct {
	traffic.Stream
	// packet is the frame without FCS.
	packet []byte
	// ip and signature are the offsets of its network layer and its signature.
	ip, signature int
}

// newStream builds the packet.
func newStream(t traffic.Stream, src traffic.MAC) (stream, error) {
	h := t.Headers
	if err := supported(t); err != nil {
		return stream{}, err
	}
	if h.SrcMAC == (traffic.MAC{}) {
		h.SrcMAC = src
	}
	p := frame.Packet{
		SrcMAC: h.SrcMAC, DstMAC: h.DstMAC, VLANs: h.VLANs,
		TrafficClass: h.TrafficClass, Src: h.SrcIP, Dst: h.DstIP,
		SrcPort: h.SrcPort, DstPort: h.DstPort, TTL: h.TTL, Payload: h.Payload, Size: t.FrameSize,
	}
	packet, err := p.Build(frame.Signature{Stream: t.ID})
	if err != nil {
		return stream{}, fmt.Errorf("stream %d: %w", t.ID, err)
	}
	if h.SrcIP.Is4() {
		// Ranges count under the UDP checksum: 0 means none (RFC 768).
		clear(packet[p.SignatureOffset()-2 : p.SignatureOffset()])
	}
	t.Headers = h
	s := stream{Stream: t, packet: packet, ip: p.NetworkOffset(), signature: p.SignatureOffset()}
	if err := s.balance(); err != nil {
		return stream{}, fmt.Errorf("stream %d: %w", t.ID, err)
	}
	if _, err := s.instructions(ruleStats, 0); err != nil {
		return stream{}, err
	}
	return s, nil
}

// supported returns an error if the server cannot send and count a stream.
func supported(t traffic.Stream) error {
	h := t.Headers
	switch {
	case len(h.Custom) > 0:
		return fmt.Errorf("stream %d has custom bytes, in which TRex may have no place for its mark: %w", t.ID, traffic.ErrUnsupported)
	case !h.SrcIP.IsValid():
		return fmt.Errorf("stream %d has no network layer, and TRex counts frames by a mark in their IP header: give it addresses: %w", t.ID, traffic.ErrUnsupported)
	case len(h.VLANs) > 1:
		return fmt.Errorf("stream %d has two VLAN tags, behind which not every card of TRex finds its mark: %w", t.ID, traffic.ErrUnsupported)
	case h.Tunnel.Kind != "":
		return fmt.Errorf("stream %d is in a %s tunnel, in which TRex does not search for its mark: %w", t.ID, h.Tunnel.Kind, traffic.ErrUnsupported)
	case len(h.Labels) > 0:
		return fmt.Errorf("stream %d has MPLS labels, under which TRex does not search for its mark: %w", t.ID, traffic.ErrUnsupported)
	}
	return nil
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
