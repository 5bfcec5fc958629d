package sim

import (
	"context"
	"errors"
	"math/bits"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

var _ traffic.ProgressReporter = (*Engine)(nil)

// Progress implements traffic.ProgressReporter. A modeled frame is back as soon as
// it was sent, or never; the age is waited nevertheless, as with a real engine.
func (e *Engine) Progress(ctx context.Context, age time.Duration) (traffic.Progress, error) {
	if err := context.Cause(ctx); err != nil {
		return traffic.Progress{}, err
	}
	if e.run.trial == nil {
		return traffic.Progress{}, errors.New("reporting the progress: no trial was started")
	}
	now := e.clock.Now().Sub(e.run.start)
	elapsed := min(now, e.run.length)
	if whole := e.balance(e.run.length); whole.Back() {
		// A trial that loses nothing is computed once, and not for every call: a bed can
		// have tens of thousands of streams.
		sent := whole.Expected
		if elapsed < e.run.length {
			sent = sentAfter(sent, elapsed, e.run.length)
		}
		return traffic.Progress{Expected: sent, Received: sent}, nil
	}
	p := e.balance(elapsed)
	if known := min(now-age, e.run.length); known > 0 {
		before := e.balance(known)
		p.Lost = before.Expected - min(before.Received, before.Expected)
	}
	return p, nil
}

// sentAfter is the part of a count that a constant load has sent after a while.
func sentAfter(count uint64, elapsed, whole time.Duration) uint64 {
	high, low := bits.Mul64(count, uint64(max(elapsed, 0)))
	part, _ := bits.Div64(high, low, uint64(whole))
	return part
}

// balances contains what was sent and what arrived in the first part of a trial, by the length
// of that part. Callers ask for the same parts repeatedly, and computing one costs as much as
// reading the counters.
type balances struct {
	// trial is the number of the trial, and length how long it lasts.
	trial  uint64
	length time.Duration
	after  map[time.Duration]traffic.Progress
}

// balance returns the number of frames that were sent in the first d of the trial, and of
// those that arrived.
func (e *Engine) balance(d time.Duration) traffic.Progress {
	if e.balances.trial != e.run.handling.number || e.balances.length != e.run.length {
		e.balances = balances{trial: e.run.handling.number, length: e.run.length, after: map[time.Duration]traffic.Progress{}}
	}
	p, known := e.balances.after[d]
	if known {
		return p
	}
	m := e.forwarding.measureFor(d)
	for _, s := range e.run.streams {
		sent := m.Tx[s.ID].Sent
		for _, port := range s.RxPorts {
			p.Expected += sent
			p.Received += min(sent, m.Rx[traffic.RxKey{Stream: s.ID, Port: port}].Received)
		}
	}
	e.balances.after[d] = p
	return p
}
