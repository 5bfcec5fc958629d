package trex

import (
	"context"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// sampled contains what is needed to take samples of a trial. It does not change, so that
// samples can be taken while other calls of the engine run.
type sampled struct {
	// endpoint of the server, and what was agreed on with it.
	endpoint string
	session  session
	// begin and at are the time at which the trial began, by the clocks of this machine
	// and of the server.
	begin time.Time
	at    moment
	// base are the counters of the own streams when the trial began, and foreign those
	// of the streams of other servers.
	base, foreign counters
	// sends are the own streams, and receives those of all servers, with the ports of
	// this one.
	sends, receives []atPort
	// parts are the server's parts of the own streams, and others those of other servers'
	// streams.
	parts, others []part
	// progress contains what was reported of the trial. It is the only field that changes.
	progress progress
}

// atPort is a stream at one port.
type atPort struct {
	sending
	port    *port
	foreign bool
}

// sampledOf returns what is needed to take samples of a trial that began.
func (e *Engine) sampledOf(t *trial) *sampled {
	s := &sampled{
		endpoint: e.server.client.endpoint, session: session{handle: e.server.client.handle, started: e.server.client.started},
		begin: t.begin, at: t.at, base: t.base, parts: t.parts(),
	}
	receivers := func(of sending, foreign bool) {
		for _, name := range of.RxPorts {
			if p := e.server.named(name); p != nil {
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

// sample replaces the trial that is sampled; nil when there is none any more.
func (e *Engine) sample(t *sampled) {
	if before := e.sampled.Swap(t); before != nil {
		before.progress.end()
	}
}

// connect makes a connection for samples. A server answers the calls of one connection
// in their order, and a sample must neither wait for the calls of the trial nor break
// their connection when it fails.
func (t *sampled) connect() *client {
	return &client{endpoint: t.endpoint, session: t.session}
}

// Sample implements traffic.Sampler.
func (e *Engine) Sample(ctx context.Context, s traffic.Sampling, take func(traffic.Sample)) error {
	t := e.sampled.Load()
	if t == nil {
		return errNoTrial
	}
	own := t.connect()
	defer own.close()
	return s.Each(ctx, e.server.clock, t.begin, func(interval int) (time.Duration, error) {
		asked := e.server.clock.Now()
		b, err := t.balance(ctx, own)
		if err == nil {
			sample := traffic.Sample{Interval: interval, At: max(0, b.at.since(t.at)), Sent: b.sent, Received: b.received}
			if s.Ports {
				sample.Ports = t.portsOf(b)
			}
			take(sample)
		}
		return e.server.clock.Now().Sub(asked), err
	})
}

// portsOf returns the counts of each port. The server does not report which frames are lost,
// and its latency is behind by up to latencyLag.
func (t *sampled) portsOf(b balance) *traffic.PortSamples {
	all := traffic.NewPortSamples()
	for _, one := range t.sends {
		all.Sent(&one.Stream, one.sent(b.own, t.base, one.port))
	}
	for _, one := range t.receives {
		now, base := b.own, t.base
		if one.foreign {
			now, base = b.others, t.foreign
		}
		count := traffic.RxCount{Received: one.received(now, base, one.port)}
		if probe, timed := one.probe(); timed && !one.foreign {
			// What cannot be read shows when the trial is read.
			count.Latency, _ = now.of(probe).latency()
		}
		all.Received(&one.Stream, one.port.Name, count)
	}
	return all
}

// balance contains the counts of a trial up to a moment.
type balance struct {
	at moment
	// own are the counters of the streams of this server, and others those of the streams
	// of other servers.
	own, others counters
	// sent counts the frames of this server, and expected each of them as often as it has
	// receivers. received counts the frames of all servers that came to this one.
	sent, expected, received uint64
}

// balance reads the counters of a trial by a connection.
func (t *sampled) balance(ctx context.Context, c *client) (b balance, err error) {
	if b.own, b.at, err = c.countersAt(ctx, t.parts); err != nil {
		return b, err
	}
	if len(t.others) > 0 {
		if b.others, _, err = c.countersAt(ctx, t.others); err != nil {
			return b, err
		}
	}
	for _, one := range t.sends {
		n := one.sent(b.own, t.base, one.port)
		b.sent += n
		b.expected += n * uint64(len(one.RxPorts))
	}
	for _, one := range t.receives {
		if one.foreign {
			b.received += one.received(b.others, t.foreign, one.port)
		} else {
			b.received += one.received(b.own, t.base, one.port)
		}
	}
	return b, nil
}
