package trials

import (
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Setup is the context of a trial: the streams, and the addresses that they are sent to.
type Setup struct {
	// Plan whose Streams are sent.
	Plan plan.Plan
	// Hops are the hardware addresses that the streams are sent to.
	Hops *Neighbours
	// Observe is called when a trial begins, ends or is tried again.
	Observe func(Event)
}

// with returns the setup with other streams and addresses.
func (s Setup) with(streams []plan.Stream, hops *Neighbours) Setup {
	s.Plan.Streams, s.Hops = streams, hops
	return s
}

// traffic returns the streams of a size as the generator sends them.
func (s Setup) traffic(size plan.Size) []traffic.Stream {
	return s.Plan.At(size).Traffic(s.Hops.Sources, s.Hops.NextHops)
}

// Answers returns the streams that make receivers which send nothing known to a bridge, and
// the destination MAC addresses of these streams by stream ID. The source of their frames is
// the destination of test frames (RFC 2544 section 23). Without them the bridge floods what
// is sent to these receivers. A receiver that resolved its gateway needs no answer: the
// gateway knows it. A group needs none: it is never a source.
func (s Setup) Answers() ([]plan.Stream, map[uint16]traffic.MAC) {
	type station struct {
		port int
		mac  traffic.MAC
	}
	heard := map[station]bool{}
	for _, stream := range s.Plan.Streams {
		heard[station{stream.Tx, s.Source(stream)}] = true
	}
	var streams []plan.Stream
	hops := map[uint16]traffic.MAC{}
	for _, stream := range s.Plan.Streams {
		h := stream.Headers
		if stream.Gateway.IsValid() || stream.Networks != nil || h.DstIP.IsMulticast() || h.DstMAC[0]&1 != 0 {
			continue
		}
		for _, port := range stream.Rx {
			from := station{port, h.DstMAC}
			if h.DstIP.IsValid() && s.Plan.Ports[port].Gateway(h.DstIP.Is6()).IsValid() {
				continue
			}
			if from.mac == (traffic.MAC{}) {
				from.mac = s.Hops.Sources[s.Plan.Ports[port].Name]
			}
			if heard[from] {
				continue
			}
			heard[from] = true
			answer := plan.Stream{ID: uint16(len(streams)), Tx: port, Rx: []int{stream.Tx}, Part: stream.Part, Times: stream.Times, Headers: reversed(h)}
			hops[answer.ID] = s.Source(stream)
			streams = append(streams, answer)
		}
	}
	return streams, hops
}

// Source is the first hardware address that a stream is sent from.
func (s Setup) Source(stream plan.Stream) traffic.MAC {
	if stream.Headers.SrcMAC != (traffic.MAC{}) {
		return stream.Headers.SrcMAC
	}
	return s.Hops.Sources[s.Plan.Ports[stream.Tx].Name]
}

// reversed are the headers of an answer: source and destination change places, with
// their ranges.
func reversed(h traffic.Headers) traffic.Headers {
	h.SrcMAC, h.DstMAC = h.DstMAC, h.SrcMAC
	h.SrcMACCount, h.DstMACCount = h.DstMACCount, h.SrcMACCount
	h.SrcIP, h.DstIP = h.DstIP, h.SrcIP
	h.SrcIPCount, h.DstIPCount = h.DstIPCount, h.SrcIPCount
	h.SrcPort, h.DstPort = h.DstPort, h.SrcPort
	h.SrcPortCount, h.DstPortCount = h.DstPortCount, h.SrcPortCount
	h.Custom = nil // They are of one direction.
	return h
}
