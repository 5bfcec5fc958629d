package trex

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
)

// pausedPace is the rate of a listed stream in frames per second. It is paused and
// sends nothing, but the server's scheduler visits it at this rate.
const pausedPace = 0.01

// armed is an engine that counts and does not send.
type armed struct {
	epoch uint16
	// ports and base are the counters when it was armed.
	ports []portStats
	base  counters
	// foreign are the streams that other servers send, with the parts that are listed.
	foreign []sending
	// places has the own streams of which frames may be timed.
	places map[uint16]bool
}

// Arm implements traffic.Armer. Servers mark the frames of a stream with a number
// that each assigns to the stream when it starts, the lowest free one. For all to
// assign the same numbers, each lists all streams of the bed: before anything
// else it starts a paused copy of every stream, in the order of their IDs. What is
// added to the stream later shares the number of its copy.
//
// TRex has no place for the epoch in its frames. No frame of an
// earlier trial is counted because of the order: no engine sends when engines are
// armed, and each begins to count only once no more frames arrive.
func (e *Engine) Arm(ctx context.Context, trial traffic.Trial) error {
	if trial.Epoch == 0 {
		return errors.New("epoch 0 marks no trial")
	}
	if err := e.Stop(ctx); err != nil {
		return err
	}
	e.armed, e.trial = nil, nil
	e.sample(nil)
	next := &armed{epoch: trial.Epoch, places: map[uint16]bool{}}
	var err error
	if next.ports, err = e.server.rest(ctx); err != nil {
		return err
	}
	if err := e.list(ctx, next); err != nil {
		return err
	}
	if next.base, err = e.server.client.counters(ctx, next.parts()); err != nil {
		return err
	}
	if err := next.base.empty(next.parts(), e.server.ports); err != nil {
		return err
	}
	e.armed = next
	return nil
}

// list starts the copies. There is a profile for each: the server starts the
// streams of one profile in the order of a hash table, which depends on what was in
// the table before.
//
// Numbers of probes are of their own, and are in the probe's payload. A server
// would take a probe's frame that is flooded to it from another one for a frame of
// its own probe with that number. So every stream that may have a probe has a
// number that no other server assigns: the copies of probes are started in the same
// way, and those of the own streams are removed again, so that own probes get the
// numbers that are free.
func (e *Engine) list(ctx context.Context, a *armed) error {
	at := e.server.ports[0]
	var calls []call
	add := func(p part) string {
		id := fmt.Sprintf("listed-%d", len(at.listed))
		at.listed = append(at.listed, id)
		mode := params{"type": "continuous", "rate": params{"type": "pps", "value": pausedPace}}
		calls = append(calls, call{"add_stream", at.profile(id, p.as(params{
			"start_paused": true, "mode": mode, "vm": params{"instructions": program{}},
		}))}, at.start(id))
		return id
	}
	others := map[uint16][]part{}
	for i := range e.streams.all {
		p := part{stream: &e.streams.all[i], rule: ruleStats}
		add(p)
		others[p.ID] = []part{p}
	}
	var own []string
	for _, s := range e.streams.probeable(e.server.options.TimedFramesPerSecond) {
		p := part{stream: s, rule: ruleLatency}
		id := add(p)
		if e.server.named(s.TxPort) != nil {
			own, a.places[s.ID] = append(own, id), true
		}
		others[s.ID] = append(others[s.ID], p)
	}
	for _, id := range own {
		calls = append(calls, at.unlist(id)...)
	}
	for _, s := range e.streams.all {
		if e.server.named(s.TxPort) == nil {
			a.foreign = append(a.foreign, sending{stream: s, parts: others[s.ID]})
		}
	}
	if _, err := e.server.client.batch(ctx, calls); err != nil {
		at.listed = nil // some streams were added
		err = fmt.Errorf("listing the streams of all servers on port %s (TRex port %d): %w", at.Name, at.index(), err)
		return errors.Join(err, at.leftovers(ctx))
	}
	at.listed = slices.DeleteFunc(at.listed, func(id string) bool { return slices.Contains(own, id) })
	return nil
}

// probeable are the streams of the bed that may have a probe, as many as a server
// has numbers for. They are the same on all servers, which do not know the owners of
// each other's ports.
func (b *bedStreams) probeable(timedFramesPerSecond int) []*stream {
	if timedFramesPerSecond == 0 {
		return nil
	}
	var all, out []*stream
	for i := range b.all {
		if len(b.all[i].RxPorts) == 1 {
			all = append(all, &b.all[i])
		}
	}
	for i, ph := range phases(len(all)) {
		if ph.timed {
			out = append(out, all[i])
		}
	}
	return out
}

// unlist are the calls that remove a profile.
func (p *port) unlist(id string) []call {
	return []call{{"stop_traffic", p.profile(id, nil)}, {"remove_rx_filters", p.profile(id, nil)}, {"remove_all_streams", p.profile(id, nil)}}
}

// leftovers removes the listing that another session left on the port. The server keeps
// profiles for ever, most of them empty, and answers slowly about each.
func (p *port) leftovers(ctx context.Context) error {
	s, err := p.status(ctx)
	if err != nil || s.Port == stateIdle {
		return err
	}
	var profiles []string
	if err := p.client.call(ctx, "get_profile_list", p.owned(nil), &profiles); err != nil {
		return err
	}
	for _, id := range profiles {
		if id == profile || id == advertising && p.neighbours.announcing {
			continue
		}
		var s status
		if err := p.client.call(ctx, "get_port_status", p.profile(id, nil), &s); err != nil {
			return err
		}
		if s.State != stateIdle {
			p.listed = append(p.listed, id)
		}
	}
	return nil
}

// expect arms the engine for a trial of an epoch, unless it is; epoch 0 is a trial
// of this server alone.
func (e *Engine) expect(ctx context.Context, epoch uint16) error {
	if epoch == 0 {
		e.armed = nil
		return nil
	}
	if e.armed != nil && e.armed.epoch == epoch {
		return nil
	}
	return e.Arm(ctx, traffic.Trial{Epoch: epoch})
}

// rest brings all ports to rest, and returns their counters once nothing arrives
// any more.
func (s *server) rest(ctx context.Context) ([]portStats, error) {
	for _, p := range s.ports {
		if err := p.clean(ctx); err != nil {
			return nil, err
		}
	}
	return s.drain(ctx)
}

// ready makes the ports ready for the streams of a trial. What was armed stays as
// it is, and is used up.
func (e *Engine) ready(ctx context.Context, t *trial) (err error) {
	if t.armed, e.armed = e.armed, nil; t.armed != nil {
		t.ports = t.armed.ports
		return nil
	}
	t.ports, err = e.server.rest(ctx)
	return err
}

// parts returns the listed parts of the streams of other servers.
func (a *armed) parts() []part {
	var all []part
	for _, s := range a.foreign {
		all = append(all, s.parts...)
	}
	return all
}

// receivedFromOthers adds what the ports received of the streams of other servers.
func (t *trial) receivedFromOthers(ctx context.Context, m *traffic.Measurement) error {
	if t.armed == nil || len(t.armed.foreign) == 0 {
		return nil
	}
	now, err := t.server.client.counters(ctx, t.armed.parts())
	if err != nil {
		return err
	}
	for _, s := range t.armed.foreign {
		for _, part := range s.parts {
			if err := now.same(t.armed.base, part); err != nil {
				return err
			}
		}
		for _, p := range t.server.ports {
			n := s.received(now, t.armed.base, p)
			if slices.Contains(s.RxPorts, p.Name) {
				m.Rx[traffic.RxKey{Stream: s.ID, Port: p.Name}] = traffic.RxCount{Received: n}
			} else {
				misdelivered(m, p, n)
			}
		}
	}
	return nil
}
