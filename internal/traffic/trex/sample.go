package trex

import (
	"context"
	"errors"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// sampled is what has to be known of a trial to take samples of it. It does not
// change, so that samples are taken while other calls of the engine run.
type sampled struct {
	// endpoint of the server, and what was agreed on with it.
	endpoint string
	session  session
	// begin and at are when the trial began, by the clocks of this machine and of the
	// server.
	begin time.Time
	at    moment
	// base are the counters of the own streams when the trial began, and foreign those
	// of the streams of other servers.
	base, foreign counters
	// sends are the own streams, and receives those of all servers, with the ports of
	// this one.
	sends, receives []atPort
	// parts are what the server has of the own streams, and of those of others.
	parts, others []part
}

// atPort is a stream at one port.
type atPort struct {
	sending
	port    *port
	foreign bool
}

// sampledOf is what has to be known of a trial that began.
func (e *Engine) sampledOf(t *trial) *sampled {
	s := &sampled{
		endpoint: e.client.endpoint, session: session{handle: e.client.handle, started: e.client.started},
		begin: t.begin, at: t.at, base: t.base, parts: t.parts(),
	}
	receivers := func(of sending, foreign bool) {
		for _, name := range of.RxPorts {
			if p := e.port(name); p != nil {
				s.receives = append(s.receives, atPort{of, p, foreign})
			}
		}
	}
	for _, from := range t.senders {
		for _, one := range from.streams {
			s.sends = append(s.sends, atPort{sending: one, port: from.port})
			receivers(one, false)
		}
	}
	if t.armed != nil {
		s.foreign, s.others = t.armed.base, t.armed.parts()
		for _, one := range t.armed.foreign {
			receivers(one, true)
		}
	}
	return s
}

// Sample implements traffic.Sampler. It has a connection of its own: a server
// answers the calls of one connection in their order, and a sample must neither wait
// for the calls of the trial nor break their connection when it fails.
func (e *Engine) Sample(ctx context.Context, s traffic.Sampling, take func(traffic.Sample)) error {
	t := e.sampled.Load()
	if t == nil {
		return errors.New("there is no trial to sample")
	}
	own := &client{endpoint: t.endpoint, session: t.session}
	defer own.close()
	return s.Each(ctx, e.clock, t.begin, func(interval int) error {
		sample, err := t.read(ctx, own)
		if err == nil {
			sample.Interval = interval
			take(sample)
		}
		return err
	})
}

// read takes a sample by a connection.
func (t *sampled) read(ctx context.Context, c *client) (traffic.Sample, error) {
	now, at, err := c.countersAt(ctx, t.parts)
	if err != nil {
		return traffic.Sample{}, err
	}
	var others counters
	if len(t.others) > 0 {
		if others, _, err = c.countersAt(ctx, t.others); err != nil {
			return traffic.Sample{}, err
		}
	}
	s := traffic.Sample{At: max(0, at.since(t.at))}
	for _, one := range t.sends {
		s.Sent += one.sent(now, t.base, one.port)
	}
	for _, one := range t.receives {
		if one.foreign {
			s.Received += one.received(others, t.foreign, one.port)
		} else {
			s.Received += one.received(now, t.base, one.port)
		}
	}
	return s, nil
}
