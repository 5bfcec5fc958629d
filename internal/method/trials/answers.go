package trials

import (
	"context"
	"time"

	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// answersAge is the maximum age of the receivers' answers at the end of a trial. It is below
// 300 s, the default aging time of a bridge (IEEE 802.1D).
const answersAge = 4 * time.Minute

// Answers returns the streams that make receivers which send nothing known to a bridge, and
// the destination MAC addresses of these streams by stream ID. The source of their frames is
// the destination of test frames (RFC 2544 section 23). Without them the bridge floods what
// is sent to these receivers. A receiver that resolved its gateway needs no answer: the
// gateway knows it. A group needs none: it is never a source.
func (l *Tester) Answers() ([]plan.Stream, map[uint16]traffic.MAC) {
	type station struct {
		port int
		mac  traffic.MAC
	}
	heard := map[station]bool{}
	for _, s := range l.Plan.Streams {
		heard[station{s.Tx, l.Source(s)}] = true
	}
	var streams []plan.Stream
	hops := map[uint16]traffic.MAC{}
	for _, s := range l.Plan.Streams {
		h := s.Headers
		if s.Gateway.IsValid() || s.Networks != nil || h.DstIP.IsMulticast() || h.DstMAC[0]&1 != 0 {
			continue
		}
		for _, port := range s.Rx {
			from := station{port, h.DstMAC}
			if h.DstIP.IsValid() && l.Plan.Ports[port].Gateway(h.DstIP.Is6()).IsValid() {
				continue
			}
			if from.mac == (traffic.MAC{}) {
				from.mac = l.Hops.Sources[l.Plan.Ports[port].Name]
			}
			if heard[from] {
				continue
			}
			heard[from] = true
			answer := plan.Stream{ID: uint16(len(streams)), Tx: port, Rx: []int{s.Tx}, Part: s.Part, Times: s.Times, Headers: reversed(h)}
			hops[answer.ID] = l.Source(s)
			streams = append(streams, answer)
		}
	}
	return streams, hops
}

// Source is the first hardware address that a stream is sent from.
func (l *Tester) Source(s plan.Stream) traffic.MAC {
	if s.Headers.SrcMAC != (traffic.MAC{}) {
		return s.Headers.SrcMAC
	}
	return l.Hops.Sources[l.Plan.Ports[s.Tx].Name]
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

// answer lets the receivers that send nothing tell where they are. Afterwards the
// generator has the tester's streams again.
func (l *Tester) answer(ctx context.Context) error {
	streams, hops := l.Answers()
	if len(streams) == 0 {
		l.answered = time.Time{}
		return nil
	}
	other := l.sending(streams, &Neighbours{Sources: l.Hops.Sources, NextHops: hops})
	if err := other.ConfigureStreams(ctx); err != nil {
		return err
	}
	if err := other.Introduce(ctx, other.Plan.At(other.Size).Streams()); err != nil {
		return err
	}
	l.answered = l.Generator.Clock().Now()
	return l.ConfigureStreams(ctx)
}

// answerAgain lets the receivers answer once more when the device would forget them
// before the end of a trial. One that is longer than that ends with flooded frames.
func (l *Tester) answerAgain(ctx context.Context, event Event, trial traffic.Trial) error {
	if l.answered.IsZero() || l.Generator.Clock().Now().Add(SendingTime(trial)).Sub(l.answered) < answersAge {
		return nil
	}
	return l.Persist(ctx, event, func() error { return l.answer(ctx) })
}
