package sim

import (
	"context"
	"errors"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

var _ traffic.ProgressReporter = (*Engine)(nil)

// Progress implements traffic.ProgressReporter. A modelled frame is back as soon as
// it was sent, or never; the age is waited nevertheless, as with a real engine.
func (e *Engine) Progress(ctx context.Context, age time.Duration) (traffic.Progress, error) {
	if err := context.Cause(ctx); err != nil {
		return traffic.Progress{}, err
	}
	if e.trial == nil {
		return traffic.Progress{}, errors.New("reporting the progress: no trial was started")
	}
	elapsed := e.clock.Now().Sub(e.start)
	known := min(elapsed-age, e.length)
	if e.lossless() {
		return e.balance(min(elapsed, e.length), e.allArrive), nil
	}
	p := e.balance(min(elapsed, e.length), e.measureFor)
	if known > 0 {
		before := e.balance(known, e.measureFor)
		p.Lost = before.Expected - min(before.Received, before.Expected)
	}
	return p, nil
}

// lossless says that the trial loses nothing if it goes on to its end. A bed with
// tens of thousands of streams is computed once for that, and not at every call.
func (e *Engine) lossless() bool {
	if e.judged != e.number {
		p := e.balance(e.length, e.measureFor)
		e.judged, e.lossFree = e.number, p.Back()
	}
	return e.lossFree
}

// balance is what was sent in the first d of the trial and what of it arrived.
func (e *Engine) balance(d time.Duration, measure func(time.Duration) traffic.Measurement) traffic.Progress {
	m, p := measure(d), traffic.Progress{}
	for _, s := range e.streams {
		sent := m.Tx[s.ID].Sent
		for _, port := range s.RxPorts {
			p.Expected += sent
			if m.Rx == nil {
				p.Received += sent
				continue
			}
			p.Received += min(sent, m.Rx[traffic.RxKey{Stream: s.ID, Port: port}].Received)
		}
	}
	return p
}

// allArrive is the first d of a trial that loses nothing, without what the
// receivers count.
func (e *Engine) allArrive(d time.Duration) traffic.Measurement {
	m := traffic.Measurement{Tx: make(map[uint16]traffic.TxCount, len(e.streams))}
	e.send(&m, d)
	e.holdBack(&m, d)
	return m
}
