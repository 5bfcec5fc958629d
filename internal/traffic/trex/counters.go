package trex

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"nodrop.dev/nodrop/internal/traffic"
)

// groupStats are the counters of one stream, by the number of the port as text.
// Ports may be missing.
type groupStats struct {
	Sent     map[string]uint64 `json:"tp"`
	Received map[string]uint64 `json:"rp"`
}

// counters is the answer of get_pgid_stats. Each part is null if it is empty.
type counters struct {
	Flows   map[string]groupStats      `json:"flow_stats"`
	Raw     map[string]json.RawMessage `json:"latency"`
	Version map[string]int64           `json:"ver_id"`
	latency map[string]latencyStats
}

// counters reads the counters of parts of streams. They continue from run to run, and vanish
// with the streams.
func (c *client) counters(ctx context.Context, parts []part) (counters, error) {
	got, _, err := c.countersAt(ctx, parts)
	return got, err
}

// countersAt reads the counters, and the server's time after it read them.
func (c *client) countersAt(ctx context.Context, parts []part) (counters, moment, error) {
	groups := make([]int, len(parts))
	for i, s := range parts {
		groups[i] = s.group()
	}
	answers, err := c.batch(ctx, []call{{"get_pgid_stats", params{"pgids": groups}}, timeCall})
	if err != nil {
		return counters{}, 0, err
	}
	at, err := momentOf(answers[1])
	if err != nil {
		return counters{}, 0, err
	}
	got, err := countersOf(answers[0])
	return got, at, err
}

func countersOf(answer json.RawMessage) (counters, error) {
	var c counters
	if err := json.Unmarshal(answer, &c); err != nil {
		return c, fmt.Errorf("reading TRex's answer to get_pgid_stats: %w", err)
	}
	c.latency = map[string]latencyStats{}
	for key, raw := range c.Raw {
		if _, err := strconv.Atoi(key); err != nil {
			continue // "g" is about no stream
		}
		var l latencyStats
		err := json.Unmarshal(raw, &l)
		if err == nil {
			err = l.decodeHDR()
		}
		if err != nil {
			return c, fmt.Errorf("reading the latency of stream group %s from TRex: %w", key, err)
		}
		c.latency[key] = l
	}
	return c, nil
}

// sent and received are the frames of a part of a stream at a port.
func (c counters) sent(s part, p *port) uint64 {
	return c.Flows[strconv.Itoa(s.group())].Sent[strconv.Itoa(p.index())]
}

func (c counters) received(s part, p *port) uint64 {
	return c.Flows[strconv.Itoa(s.group())].Received[strconv.Itoa(p.index())]
}

// of is the latency of a part of a stream.
func (c counters) of(s part) latencyStats { return c.latency[strconv.Itoa(s.group())] }

// same fails when a part was removed since base was read, and its counters with it.
func (c counters) same(base counters, s part) error {
	key := strconv.Itoa(s.group())
	was, before := base.Version[key]
	is, now := c.Version[key]
	if !before || !now || was != is {
		return fmt.Errorf("%w: TRex no longer has stream %d as it was when the trial began (version %d, then %d)", traffic.ErrInterrupted, s.ID, was, is)
	}
	return nil
}

// empty fails unless the counters of streams that were just added are zero: earlier
// counts could not be distinguished from those of the trial.
func (c counters) empty(parts []part, ports []*port) error {
	for _, s := range parts {
		for _, p := range ports {
			if n := c.sent(s, p); n > 0 {
				return fmt.Errorf("TRex counts %d frames of stream %d as sent on %s before the trial began", n, s.ID, p.Name)
			}
		}
		if n := c.of(s).timed(); n > 0 {
			return fmt.Errorf("TRex has the latency of %d frames of stream %d from before the trial began", n, s.ID)
		}
	}
	return nil
}

// portStats is the answer of get_port_stats, without unused fields.
type portStats struct {
	Received uint64 `json:"ipackets"`
	Errors   uint64 `json:"ierrors"`
	Refused  uint64 `json:"oerrors"`
}

// portStats reads the counters of all ports.
func (s *server) portStats(ctx context.Context) ([]portStats, error) {
	var calls []call
	for _, p := range s.ports {
		calls = append(calls, call{"get_port_stats", params{"port_id": p.index()}})
	}
	raw, err := s.client.batch(ctx, calls)
	if err != nil {
		return nil, err
	}
	stats := make([]portStats, len(raw))
	for i := range raw {
		if err := json.Unmarshal(raw[i], &stats[i]); err != nil {
			return nil, fmt.Errorf("reading the counters of port %s from TRex: %w", s.ports[i].Name, err)
		}
	}
	return stats, nil
}

// drain waits until nothing arrives any more, so that what an earlier trial left
// in the rings is not counted in the next one, and returns the counters of the
// ports. A port to which others send never rests; drain waits drainFor at most.
func (s *server) drain(ctx context.Context) ([]portStats, error) {
	last, err := s.portStats(ctx)
	if err != nil {
		return nil, err
	}
	for end := s.clock.Now().Add(drainFor); s.clock.Now().Before(end); {
		if err := s.clock.Sleep(ctx, drainPoll); err != nil {
			return nil, err
		}
		next, err := s.portStats(ctx)
		if err != nil {
			return nil, err
		}
		quiet := true
		for i := range next {
			quiet = quiet && next[i].Received == last[i].Received
		}
		if last = next; quiet {
			break
		}
	}
	return last, nil
}
