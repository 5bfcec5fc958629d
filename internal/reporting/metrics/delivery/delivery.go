// Package delivery writes what is in a spool to a sink: oldest first, rows before series,
// each point exactly once in effect. It never gives up: a sink that is away, is slow or
// asks for a pause is asked again, and what it does not take is kept apart.
package delivery

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
)

const (
	// batchBytes is about how many bytes of lines one request has, before compression.
	batchBytes = 1 << 20
	// firstPause and lastPause are between two attempts; the pause doubles in between.
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// Delivery writes from a spool to a sink.
type Delivery struct {
	spool *spool.Spool
	sink  sink.Sink
	log   *slog.Logger
	// pause returns the time to wait after the given number of failed attempts.
	pause func(failed int) time.Duration

	mu      sync.Mutex
	written int64
	last    time.Time
	failed  int64
	problem string
	since   time.Time
}

// Option changes a delivery.
type Option func(*Delivery)

// WithPause sets how long to wait after so many attempts failed, where the sink does not
// ask for more.
func WithPause(pause func(failed int) time.Duration) Option {
	return func(d *Delivery) { d.pause = pause }
}

// New is a delivery. Nothing is written before Run.
func New(from *spool.Spool, to sink.Sink, log *slog.Logger, opts ...Option) *Delivery {
	d := &Delivery{spool: from, sink: to, log: log, pause: backOff}
	for _, o := range opts {
		o(d)
	}
	return d
}

// backOff doubles, with a random part so that many do not come at once.
func backOff(failed int) time.Duration {
	d := lastPause
	if failed < 7 {
		d = firstPause << max(0, failed-1)
	}
	return d/2 + rand.N(d/2+1)
}

// Stats contains the progress of the delivery.
type Stats struct {
	spool.Stats
	// Written is the number of points that the sink has accepted from this process.
	Written int64
	// Last is the time at which the sink last accepted points; zero before the first time.
	Last time.Time
	// Failures is the number of failed attempts of this process.
	Failures int64
	// Problem is the reason why the sink accepts no points, since Since; empty while it does.
	Problem string
	Since   time.Time
}

// Stats returns the progress of the delivery.
func (d *Delivery) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{d.spool.Stats(), d.written, d.last, d.failed, d.problem, d.since}
}

// Run writes until ctx ends.
func (d *Delivery) Run(ctx context.Context) {
	failed := 0
	for ctx.Err() == nil {
		changed := d.spool.Changed()
		batch, err := d.spool.Next(batchBytes)
		if err == nil && len(batch.Lines) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if err == nil {
			err = d.write(ctx, batch)
		}
		if err == nil {
			failed = 0
			d.works()
			continue
		}
		failed++
		d.fails(ctx, err)
		pause := d.pause(failed)
		var later *sink.LaterError
		if errors.As(err, &later) {
			pause = max(pause, later.After)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// write writes a batch and removes it from the spool.
func (d *Delivery) write(ctx context.Context, batch spool.Batch) error {
	refused, err := d.split(ctx, batch.Lines)
	if err != nil {
		return err
	}
	if err := d.spool.Done(batch, refused); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(batch.Lines) - len(refused); n > 0 {
		d.written += int64(n)
		d.last = time.Now()
	}
	return nil
}

// split writes lines, in halves as long as the sink refuses some of them, and returns
// those that it does not take.
func (d *Delivery) split(ctx context.Context, lines [][]byte) (refused [][]byte, err error) {
	err = d.sink.Write(ctx, lines)
	var no *sink.RefusedError
	switch {
	case !errors.As(err, &no):
		return nil, err
	case len(lines) == 1:
		d.log.Warn("the sink of the metrics does not take a point, which is kept in the spool", "sink", d.sink.String(), "reason", no.Reason)
		return lines, nil
	}
	for _, half := range [][][]byte{lines[:len(lines)/2], lines[len(lines)/2:]} {
		not, err := d.split(ctx, half)
		if err != nil {
			return nil, err
		}
		refused = append(refused, not...)
	}
	return refused, nil
}

func (d *Delivery) works() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.problem != "" {
		d.log.Info("the sink of the metrics takes points again", "sink", d.sink.String())
	}
	d.problem = ""
}

func (d *Delivery) fails(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.problem == "" {
		d.since = time.Now()
		d.log.Warn("the sink of the metrics takes no points, which are kept in the spool", "sink", d.sink.String(), "error", err.Error())
	}
	d.failed++
	d.problem = err.Error()
}
