package trex

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// A trial may send graceBase and a part in graceShare of its duration longer than
	// its duration, so that the time that calls take does not cut off a sender that is
	// just in time.
	graceBase  = 100 * time.Millisecond
	graceShare = 100
	// pollMin and pollMax bound how often a port is asked whether it still sends.
	pollMin, pollMax = 2 * time.Millisecond, 200 * time.Millisecond
	// drainFor is the longest wait for the receive side to come to rest, drainPoll
	// the time without a frame that is rest.
	drainFor, drainPoll = 3 * time.Second, 20 * time.Millisecond
)

// trial is the current trial, or the last one.
type trial struct {
	traffic.Trial
	server  *server
	senders []*sender
	// begin is the time at which the server was asked to start, and at the time of the
	// server's clock before it did.
	begin time.Time
	at    moment
	// ports and base are the counters when the trial began.
	ports []portStats
	base  counters
	// armed contains the counters from when the engine was armed; nil if it was not.
	armed *armed
	// read is the measurement; nil until it was read.
	read *traffic.Measurement
}

// sender is a port that sends in a trial.
type sender struct {
	*port
	streams []sending
	// open reports whether only time ends the sending of a stream.
	open bool
	// expect is the time that the sending takes if the port keeps up.
	expect time.Duration
	// done reports whether the port no longer sends, and took is the time for which it
	// did; 0 while it is not known.
	done bool
	took time.Duration
	// cut reports whether the caller stopped it before its time.
	cut bool
}

// over notes when the port was found to have sent its last frame, the first time.
func (s *sender) over(after time.Duration) {
	if s.took == 0 {
		s.took = after
	}
}

// Start implements traffic.Generator.
func (e *Engine) Start(ctx context.Context, t traffic.Trial) error {
	if err := e.Stop(ctx); err != nil {
		return err
	}
	e.trial = nil
	e.sample(nil)
	if err := e.expect(ctx, t.Epoch); err != nil {
		return err
	}
	next, calls, err := e.plan(t)
	if err != nil {
		return err
	}
	if err := e.ready(ctx, next); err != nil {
		return err
	}
	if _, err := e.server.client.batch(ctx, calls); err != nil {
		return err
	}
	if next.base, err = e.server.client.counters(ctx, next.parts()); err != nil {
		return err
	}
	if err := next.base.empty(next.parts(), e.server.ports); err != nil {
		return err
	}
	// What happened before is no interruption of this trial.
	if err := e.server.events(ctx); err != nil && !errors.Is(err, traffic.ErrInterrupted) {
		return err
	}
	return e.begin(ctx, next)
}

// plan makes the senders of a trial and the calls that add their streams.
func (e *Engine) plan(t traffic.Trial) (*trial, []call, error) {
	next := &trial{Trial: t, server: &e.server}
	fast := map[string]int{}
	var sends []stream
	var timeable []int // the indices of those
	for _, one := range e.streams.own {
		load, ok := t.Loads[one.ID]
		if !ok {
			continue
		}
		if err := checkLoad(one.ID, load, t.Duration); err != nil {
			return nil, nil, err
		}
		if e.timeable(one) {
			timeable = append(timeable, len(sends))
		}
		sends = append(sends, one)
		if load.Max {
			fast[one.TxPort]++
		}
	}
	ofSends := make([]phase, len(sends))
	for i, ph := range phases(len(timeable)) {
		ofSends[timeable[i]] = ph
	}
	var calls []call
	for _, p := range e.server.ports {
		s := &sender{port: p}
		for i, one := range sends {
			if one.TxPort != p.Name {
				continue
			}
			load := t.Loads[one.ID]
			own := sending{stream: one, intended: intended(load, t.Duration)}
			s.expect = max(s.expect, expected(load, own.intended, t.Duration))
			own.parts = one.split(load, own.intended, t.Duration, e.server.options.TimedFramesPerSecond, ofSends[i], 100/float64(max(1, fast[p.Name])))
			s.open = s.open || own.open()
			for _, part := range own.parts {
				add, err := part.add(p)
				if err != nil {
					return nil, nil, err
				}
				calls = append(calls, add)
			}
			s.streams = append(s.streams, own)
		}
		if len(s.streams) > 0 {
			next.senders = append(next.senders, s)
		}
	}
	return next, calls, nil
}

func checkLoad(id uint16, load traffic.Load, d time.Duration) error {
	switch {
	case !load.Max && (load.Rate.Frames <= 0 || load.Rate.PerNanos <= 0):
		return fmt.Errorf("stream %d: rate of %d frames per %d ns: both must be above 0", id, load.Rate.Frames, load.Rate.PerNanos)
	case load.Frames == 0 && d <= 0:
		return fmt.Errorf("stream %d: neither a number of frames nor a duration ends the trial", id)
	case load.Delay < 0 || d > 0 && load.Delay >= d:
		return fmt.Errorf("stream %d: a delay of %v: want 0 or more, and less than the %v that the trial lasts", id, load.Delay, d)
	case d <= 0 && load.Frames > maxBurst:
		return fmt.Errorf("stream %d: %d frames: TRex sends at most %d exactly: %w", id, load.Frames, uint64(maxBurst), traffic.ErrUnsupported)
	}
	return nil
}

// parts returns the server's parts of the streams that send.
func (t *trial) parts() []part {
	var all []part
	for _, s := range t.senders {
		for _, one := range s.streams {
			all = append(all, one.parts...)
		}
	}
	return all
}

// end returns the time for which a sender may send, or 0 if its frames end it.
func (t *trial) end(s *sender) time.Duration {
	switch {
	case t.Duration <= 0:
		return 0
	case s.open:
		return t.Duration
	}
	return t.Duration + graceBase + t.Duration/graceShare
}

// asked returns the number of frames of a stream that a sender was asked for. For a sender
// that was cut off, that is the number that it sent, or if greater, the number that it should
// have sent by then without being later than the engine is by itself.
func (t *trial) asked(s *sender, of sending, sent uint64) uint64 {
	if !s.cut {
		return of.intended
	}
	var due uint64
	load := t.Loads[of.ID]
	if d := s.took - graceBase - s.took/graceShare; d > load.Delay {
		due = intended(load, d)
	}
	return min(of.intended, max(due, sent))
}

// Wait implements traffic.Generator: it asks the ports until none sends any more,
// and stops by the wall clock those whose time is up.
func (e *Engine) Wait(ctx context.Context) error {
	if e.trial == nil {
		return nil
	}
	if e.server.client.lost != nil {
		return e.server.client.lost
	}
	t := e.trial
	for {
		if err := t.count(ctx); err != nil {
			return err
		}
		left := pollMax
		sending := false
		for _, s := range t.senders {
			if s.done {
				continue
			}
			if err := t.poll(ctx, s); err != nil {
				return err
			}
			if s.done {
				continue
			}
			sending = true
			elapsed := e.server.clock.Now().Sub(t.begin)
			if end := t.end(s); end > 0 && elapsed >= end {
				if err := t.halt(ctx, s); err != nil {
					return err
				}
				continue
			}
			left = min(left, pause(elapsed, s.expect))
		}
		if !sending {
			return nil
		}
		if err := e.server.clock.Sleep(ctx, left); err != nil {
			return err
		}
	}
}

// pause returns the time to wait before a port is asked again: shorter towards the expected
// end, and after it a small part of what has passed since.
func pause(elapsed, expect time.Duration) time.Duration {
	if elapsed < expect {
		return max(pollMin, (expect-elapsed)/2)
	}
	return max(pollMin, (elapsed-expect)/64)
}

// expected returns the time that n frames under a load take. Loads at full speed return d, as
// their time is not known in advance.
func expected(load traffic.Load, n uint64, d time.Duration) time.Duration {
	if load.Max || n > maxBurst {
		return d
	}
	perSecond, _ := load.Rate.FramesPerSecond().Float64()
	seconds := float64(n) / perSecond
	return load.Delay + time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2))
}

// count finds out from the counters whether all frames were sent. The counters have a
// frame within 2 ms, while the state of a port shows its end some 20 ms late.
func (t *trial) count(ctx context.Context) error {
	now, at, err := t.server.client.countersAt(ctx, t.parts())
	if err != nil {
		return err
	}
	for _, s := range t.senders {
		missing := s.open // only time ends it
		for _, one := range s.streams {
			missing = missing || one.sent(now, t.base, s.port) < one.intended
		}
		if !missing {
			s.over(max(1, at.since(t.at)))
		}
	}
	return nil
}

// poll asks whether a port still sends.
func (t *trial) poll(ctx context.Context, s *sender) error {
	now, err := s.status(ctx)
	if err != nil {
		return err
	}
	if now.State != stateSending {
		s.done = true
		s.over(max(1, t.server.clock.Now().Sub(t.begin)))
	}
	return nil
}

// halt stops a port. One that has just ended by itself is as good.
func (t *trial) halt(ctx context.Context, s *sender) error {
	if err := t.server.client.call(ctx, "stop_traffic", s.port.streams(nil), nil); err != nil {
		if late := t.poll(ctx, s); late == nil && s.done {
			return nil
		}
		return err
	}
	s.done = true
	s.over(max(1, t.server.clock.Now().Sub(t.begin)))
	return nil
}

// Stop implements traffic.Generator. A server that is gone sends nothing.
func (e *Engine) Stop(ctx context.Context) error {
	if e.trial == nil {
		return nil
	}
	if e.server.client.lost == nil {
		err := e.trial.halts(ctx)
		if !errors.Is(err, traffic.ErrInterrupted) {
			return err
		}
	}
	there, err := e.server.afterLoss(ctx, func() error { return e.trial.halts(ctx) })
	if err == nil && !there {
		for _, s := range e.trial.senders {
			s.done = true
		}
	}
	return err
}

// halts stops all ports that still send.
func (t *trial) halts(ctx context.Context) error {
	var errs []error
	for _, s := range t.senders {
		if !s.done {
			s.cut = true
			errs = append(errs, t.halt(ctx, s))
		}
	}
	return errors.Join(errs...)
}
