package trex

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// errNoTrial means that no trial can be sampled or reported.
var errNoTrial = errors.New("there is no trial whose counters could be read")

// progress contains what is kept of a trial between two reports.
type progress struct {
	mu sync.Mutex
	// own is the connection for reports; nil before the first one, after one that failed,
	// and when the trial is over.
	own *client
	// over reports whether the trial is over.
	over bool
	// known are the gaps of the probes at some moments, the oldest first.
	known []gaps
	// lost is the highest count that was reported.
	lost uint64
}

// gaps describes the order of the probes of a trial, by their order.
type gaps struct {
	at moment
	// missing are the numbers below the highest one that came, and have not come
	// themselves, and filled those that came later than a higher one.
	missing, filled []uint64
}

// end closes the connection of the reports. There are none after it.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.disconnect()
}

func (p *progress) disconnect() {
	if p.own != nil {
		p.own.close()
		p.own = nil
	}
}

// Progress implements traffic.ProgressReporter. TRex knows the order of the frames of
// probes only: of those a frame is lost when a later one had arrived the age before.
// Plain streams have counts and no order, so that no frame of them is ever reported
// lost. A report that fails affects neither the trial nor the next report.
func (e *Engine) Progress(ctx context.Context, age time.Duration) (traffic.Progress, error) {
	t := e.sampled.Load()
	if t == nil {
		return traffic.Progress{}, errNoTrial
	}
	p := &t.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return traffic.Progress{}, errNoTrial
	}
	if p.own == nil {
		p.own = t.connect()
	}
	b, err := t.balance(ctx, p.own)
	if err != nil {
		p.disconnect()
		return traffic.Progress{}, err
	}
	now, copies := t.gaps(b)
	p.lost = max(p.lost, p.overtaken(now, age))
	p.known = append(p.known, now)
	return traffic.Progress{Expected: b.expected, Received: b.received - min(copies, b.received), Lost: p.lost}, nil
}

// gaps returns the gaps of the probes in a balance, and how many of their frames are copies.
func (t *sampled) gaps(b balance) (now gaps, copies uint64) {
	now.at = b.at
	for _, one := range t.parts {
		if one.rule != ruleLatency {
			continue
		}
		is, was := b.own.of(one).Errors, t.base.of(one).Errors
		now.missing = append(now.missing, is.Dropped-min(was.Dropped, is.Dropped))
		now.filled = append(now.filled, is.OutOfOrder-min(was.OutOfOrder, is.OutOfOrder))
		copies += is.Duplicate - min(was.Duplicate, is.Duplicate)
	}
	return now, copies
}

// overtaken returns the number of frames that were missing the age before now, or earlier, and
// are still missing. Any frame that came late since then may have been one of them, so the
// number is never too high. Older gaps are forgotten.
func (p *progress) overtaken(now gaps, age time.Duration) (lost uint64) {
	for len(p.known) > 1 && now.at.since(p.known[1].at) >= age {
		p.known = slices.Delete(p.known, 0, 1)
	}
	if len(p.known) == 0 || now.at.since(p.known[0].at) < age {
		return 0
	}
	before := p.known[0]
	for i, missing := range before.missing {
		lost += missing - min(missing, now.filled[i]-min(before.filled[i], now.filled[i]))
	}
	return lost
}
