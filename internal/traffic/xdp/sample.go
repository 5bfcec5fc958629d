package xdp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// Sample implements traffic.Generator. It reads one counter per port for what
// left, and one per processor and port for what arrived; senders and receivers
// do not wait for it. What arrived is read first, so that it is never more than
// what left.
func (e *Engine) Sample(context.Context) (traffic.Sample, error) {
	if e.trial == nil || e.armed {
		return traffic.Sample{}, errors.New("there is no trial to take a sample of")
	}
	var s traffic.Sample
	for _, p := range e.ports {
		n, err := p.receivedIn(e.number)
		if err != nil {
			return s, err
		}
		s.Received += n
	}
	for _, sender := range e.trial.senders {
		s.Sent += atomic.LoadUint64(&sender.port.programs.port.Sent)
	}
	s.At = e.trial.age()
	return s, nil
}

// age is how long the trial has been sent, or was.
func (t *trial) age() time.Duration {
	end := int64(0)
	for _, s := range t.senders {
		select {
		case <-s.done:
			end = max(end, s.end)
		default:
			return time.Duration(monotonic() - t.begin)
		}
	}
	if len(t.senders) > 0 {
		return time.Duration(end - t.begin)
	}
	// Others send, for as long.
	age := time.Duration(monotonic() - t.begin)
	if t.Duration > 0 {
		age = min(age, t.Duration)
	}
	return age
}

// receivedIn is how many frames of a trial the port received so far.
func (p *port) receivedIn(trial uint64) (n uint64, err error) {
	var all []portRxPort
	if err := p.programs.RxPorts.Lookup(uint32(0), &all); err != nil {
		return 0, fmt.Errorf("reading the counters of port %s: %w", p.Name, err)
	}
	for _, c := range all {
		if c.Trial == trial {
			n += c.Received
		}
	}
	return n, nil
}
