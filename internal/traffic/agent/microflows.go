package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// recordsPerPart keeps a part of the records of microflows below the limit of a message: a record
// takes up to 20 bytes.
const recordsPerPart = 65536

// Microflows is the wire form of traffic.MicroflowCounter.
func (s *Server) Microflows(r *agentpb.MicroflowsRequest, parts agentpb.Agent_MicroflowsServer) error {
	return s.gate.concurrent(parts.Context(), func(ctx context.Context, _ *session) error {
		if s.engine.microflows == nil {
			return fmt.Errorf("reading microflows: %w", traffic.ErrUnsupported)
		}
		key := traffic.RxKey{Stream: uint16(r.GetStream()), Port: r.GetPort()}
		return s.engine.microflows.Microflows(ctx, key, func(p traffic.MicroflowPart) error { return recordsToWire(p, parts.Send) })
	})
}

// recordsToWire calls send with every part of records.
func recordsToWire(p traffic.MicroflowPart, send func(*agentpb.MicroflowsResponse) error) error {
	for len(p.Records) > 0 {
		n := min(recordsPerPart, len(p.Records))
		w := &agentpb.MicroflowsResponse{First: p.First, Received: make([]uint32, n), Last: make([]uint32, n)}
		for i, r := range p.Records[:n] {
			w.Received[i], w.Last[i] = r.Received, r.Last
		}
		if p.FirstNs != nil {
			timesToWire(w, p.FirstNs[:n])
			p.FirstNs = p.FirstNs[n:]
		}
		if err := send(w); err != nil {
			return err
		}
		p.First, p.Records = p.First+uint64(n), p.Records[n:]
	}
	return nil
}

// timesToWire adds times as differences to the earliest, which take fewer bytes.
func timesToWire(w *agentpb.MicroflowsResponse, times []uint64) {
	w.FirstNs = make([]uint64, len(times))
	for _, t := range times {
		if t > 0 && (w.GetBaseNs() == 0 || t < w.GetBaseNs()) {
			w.BaseNs = t
		}
	}
	for i, t := range times {
		if t > 0 {
			w.FirstNs[i] = t - w.GetBaseNs() + 1
		}
	}
}

// recordsFromWire returns the records of a part.
func recordsFromWire(w *agentpb.MicroflowsResponse) (traffic.MicroflowPart, error) {
	n := len(w.GetReceived())
	p := traffic.MicroflowPart{First: w.GetFirst(), Records: make([]traffic.MicroflowRecord, n)}
	if len(w.GetLast()) != n || len(w.GetFirstNs()) != 0 && len(w.GetFirstNs()) != n {
		return p, fmt.Errorf("a part of microflows has %d counts, %d numbers and %d times: the agent has another version of NoDrop", n, len(w.GetLast()), len(w.GetFirstNs()))
	}
	for i := range p.Records {
		p.Records[i] = traffic.MicroflowRecord{Received: w.GetReceived()[i], Last: w.GetLast()[i]}
	}
	for _, t := range w.GetFirstNs() {
		if t > 0 {
			t += w.GetBaseNs() - 1
		}
		p.FirstNs = append(p.FirstNs, t)
	}
	return p, nil
}

// SumMicroflows is the wire form of traffic.MicroflowCounter.
func (s *Server) SumMicroflows(parts agentpb.Agent_SumMicroflowsServer) error {
	sent, most := map[uint16]traffic.TxCount{}, 0
	for {
		part, err := parts.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for _, c := range part.GetTx() {
			sent[uint16(c.GetStream())] = txFromWire(c)
		}
		most = int(part.GetMost())
	}
	response := &agentpb.SumMicroflowsResponse{}
	err := s.gate.call(parts.Context(), func(ctx context.Context, _ *session) error {
		if s.engine.microflows == nil {
			return fmt.Errorf("summing up microflows: %w", traffic.ErrUnsupported)
		}
		sums, err := s.engine.microflows.SumMicroflows(ctx, sent, most)
		for _, sum := range sums {
			response.Sums = append(response.Sums, sumToWire(sum))
		}
		return err
	})
	if err != nil {
		return err
	}
	return parts.SendAndClose(response)
}

func sumToWire(s traffic.MicroflowSum) *agentpb.MicroflowSum {
	w := &agentpb.MicroflowSum{
		Stream: uint32(s.Stream), Port: s.Port, Tracked: s.Tracked, Complete: s.Complete, Lossy: s.Lossy, Silent: s.Silent,
		Unsent: s.Unsent, Lost: s.Lost, Least: s.Least, Most: s.Most,
	}
	for _, b := range s.Bad {
		w.Bad = append(w.Bad, &agentpb.BadMicroflow{Number: b.Number, Sent: b.Sent, Received: b.Received})
	}
	return w
}

func sumFromWire(w *agentpb.MicroflowSum) traffic.MicroflowSum {
	s := traffic.MicroflowSum{
		RxKey: traffic.RxKey{Stream: uint16(w.GetStream()), Port: w.GetPort()}, Tracked: w.GetTracked(), Complete: w.GetComplete(), Lossy: w.GetLossy(), Silent: w.GetSilent(),
		Unsent: w.GetUnsent(), Lost: w.GetLost(), Least: w.GetLeast(), Most: w.GetMost(),
	}
	for _, b := range w.GetBad() {
		s.Bad = append(s.Bad, traffic.BadMicroflow{Number: b.GetNumber(), Sent: b.GetSent(), Received: b.GetReceived()})
	}
	return s
}

// Microflows implements traffic.MicroflowCounter; it fails when the agent's engine does not.
func (c *Client) Microflows(ctx context.Context, key traffic.RxKey, take func(traffic.MicroflowPart) error) error {
	return c.link.concurrent(ctx, "reading microflows", func(ctx context.Context) error {
		parts, err := c.link.rpc.Microflows(ctx, &agentpb.MicroflowsRequest{Stream: uint32(key.Stream), Port: key.Port})
		if err != nil {
			return err
		}
		for {
			w, err := parts.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			part, err := recordsFromWire(w)
			if err != nil {
				return err
			}
			if err := take(part); err != nil {
				return err
			}
		}
	})
}

// SumMicroflows implements traffic.MicroflowCounter; it fails when the agent's engine does not.
// The agent adds up, so that no records travel.
func (c *Client) SumMicroflows(ctx context.Context, sent map[uint16]traffic.TxCount, most int) ([]traffic.MicroflowSum, error) {
	var sums []traffic.MicroflowSum
	err := c.link.doTrial(ctx, "summing up microflows", func(ctx context.Context, _ *clientSession) error {
		sums = nil
		parts, err := c.link.rpc.SumMicroflows(ctx)
		if err != nil {
			return err
		}
		if err := sentToWire(sent, most, parts.Send); err != nil {
			return err
		}
		w, err := parts.CloseAndRecv()
		for _, sum := range w.GetSums() {
			sums = append(sums, sumFromWire(sum))
		}
		return err
	})
	return sums, err
}

// sentToWire calls send with every part of what was sent.
func sentToWire(sent map[uint16]traffic.TxCount, most int, send func(*agentpb.SumMicroflowsRequest) error) error {
	part := &agentpb.SumMicroflowsRequest{}
	for id, c := range sent {
		part.Tx = append(part.Tx, txToWire(id, c))
		if len(part.GetTx()) < loadsPerPart {
			continue
		}
		if err := send(part); err != nil {
			return unlessEnded(err)
		}
		part = &agentpb.SumMicroflowsRequest{}
	}
	part.Most = int64(most)
	return unlessEnded(send(part))
}

// Microflows implements traffic.MicroflowCounter.
func (f *Fleet) Microflows(ctx context.Context, key traffic.RxKey, take func(traffic.MicroflowPart) error) error {
	i, ok := f.owner[key.Port]
	if !ok {
		return fmt.Errorf("reading the microflows of stream %d: no agent owns port %s", key.Stream, key.Port)
	}
	return f.members[i].Microflows(ctx, key, take)
}

// SumMicroflows implements traffic.MicroflowCounter. Every port has one agent, which gets what all
// agents sent.
func (f *Fleet) SumMicroflows(ctx context.Context, sent map[uint16]traffic.TxCount, most int) ([]traffic.MicroflowSum, error) {
	parts := make([][]traffic.MicroflowSum, len(f.members))
	err := f.each(ctx, func(ctx context.Context, i int, c *Client) (err error) {
		parts[i], err = c.SumMicroflows(ctx, sent, most)
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.Clip(traffic.JoinMicroflowSums(most, parts...)), nil
}
