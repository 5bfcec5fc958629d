package xdp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// sampled is the trial that samples are taken of. It has a lock of its own, since
// samples are taken while other calls of the engine run.
type sampled struct {
	mu sync.Mutex
	// trial is nil while there is none that could be sampled.
	trial *trial
	// number of the trial, which its frames carry.
	number uint64
	ports  []*port
}

// set changes the trial, once no sample is being read any more.
func (s *sampled) set(t *trial, number uint64, ports []*port) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial, s.number, s.ports = t, number, ports
}

// errNoTrial says that a sample was asked for and nothing is being sent.
var errNoTrial = errors.New("there is no trial to take a sample of")

// Sample implements traffic.Sampler.
func (e *Engine) Sample(ctx context.Context, s traffic.Sampling, take func(traffic.Sample)) error {
	e.sampled.mu.Lock()
	t := e.sampled.trial
	e.sampled.mu.Unlock()
	if t == nil {
		return errNoTrial
	}
	clock := e.Clock()
	begin := clock.Now().Add(-time.Duration(monotonic() - t.begin))
	return s.Each(ctx, clock, begin, func(interval int) error {
		sample, err := e.sampled.read(t)
		if err == nil {
			sample.Interval = interval
			take(sample)
		}
		return err
	})
}

// read takes a sample of a trial, if it is still the one in hand. It reads one
// counter per port for what left, and one per processor and port for what arrived;
// senders and receivers do not wait for it. What arrived is read first, so that it is
// never more than what left.
func (s *sampled) read(t *trial) (traffic.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sample traffic.Sample
	if s.trial != t {
		return sample, errNoTrial
	}
	for _, p := range s.ports {
		n, err := p.receivedIn(s.number)
		if err != nil {
			return sample, err
		}
		sample.Received += n
	}
	for _, sender := range t.senders {
		for _, l := range sender.lanes {
			sample.Sent += atomic.LoadUint64(&l.tx.Sent)
		}
	}
	sample.At = t.age()
	return sample, nil
}

// age is how long the trial has been sent, or was.
func (t *trial) age() time.Duration {
	end := int64(0)
	for _, s := range t.senders {
		select {
		case <-s.done:
			end = max(end, s.end)
		default:
			return max(0, time.Duration(monotonic()-t.begin))
		}
	}
	if len(t.senders) > 0 {
		return time.Duration(end - t.begin)
	}
	// Others send, for as long.
	age := max(0, time.Duration(monotonic()-t.begin))
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
