// Package stream takes what happens in a run, makes points of it, and hands them on to a
// spool or a recorder. No caller waits for it: what cannot be handed on is queued.
package stream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/metrics"
)

const (
	// maxQueued is the maximum size of queued series in bytes. Rows are all kept.
	maxQueued = 32 << 20
	// flushAfter is the time for which points are collected before they are handed on.
	flushAfter = 500 * time.Millisecond
	// maxHanded is about how many bytes are handed on at once.
	maxHanded = 2 << 20
	// again is the time to wait after a target accepted nothing.
	again = time.Second
)

// Target takes lines of the line protocol. When it returns nil, it keeps them. With an
// error none is kept, or all are and the same lines may be given again.
type Target interface {
	Take(ctx context.Context, rows, series [][]byte) error
}

// Counts contains the number of points of a stream by their state.
type Counts struct {
	// Handed points were taken by the target, Dropped ones of series had no room in the
	// queue, and Queued ones wait.
	Handed, Dropped, Queued int64
}

// Stream queues points for a target. Its methods may be called concurrently, and only
// Close waits.
type Stream struct {
	target Target
	log    *slog.Logger

	mu   sync.Mutex
	run  *metrics.Run
	time timeline
	// rows and series are queued lines, and bytes what series take.
	rows, series [][]byte
	bytes        int
	counts       Counts
	failing      bool
	// more has a value when something was queued.
	more chan struct{}

	// stop ends the loop once nothing is queued, and give at once.
	stop context.CancelFunc
	give context.CancelFunc
	done chan struct{}
}

// Open begins to hand points of a run on. Now tells the time of the day.
func Open(run *metrics.Run, target Target, log *slog.Logger, now func() time.Time) *Stream {
	stopping, stop := context.WithCancel(context.Background())
	ctx, give := context.WithCancel(context.Background())
	s := &Stream{
		target: target, log: log, run: run, time: timeline{now: now},
		more: make(chan struct{}, 1), stop: stop, give: give, done: make(chan struct{}),
	}
	go s.loop(ctx, stopping)
	return s
}

// Begin adds the point of the run with the engine that measures.
func (s *Stream) Begin(engine v1alpha1.EngineKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue(true, s.run.Point(engine, version.String()))
}

// Finished takes a row that was finished before, of which no point is queued: the times of
// later rows follow from it.
func (s *Stream) Finished(row v1alpha1.ResultRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.Finished(row)
}

// Row queues the point of a row, also of one that another run of the same benchmark
// finished: it is written again, and is there once. Rows come in the order of the plan.
func (s *Stream) Row(row v1alpha1.ResultRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.run.Row(row)
	if err != nil {
		s.log.Error("a row is not written as a metric", "row", row.Name(), "error", err.Error())
		return
	}
	s.queue(true, p)
}

// Gates queues the verdicts of the gates on the rows of a result.
func (s *Stream) Gates(j *gate.Judgement, rows []v1alpha1.ResultRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	points, err := s.run.Gates(j, rows)
	if err != nil {
		s.log.Error("verdicts of gates are not written as metrics", "error", err.Error())
		return
	}
	s.queue(true, points...)
}

// Event follows the trials.
func (s *Stream) Event(e trials.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Finished != nil:
		s.queue(false, s.run.Trial(e, s.time.at(e.Began)))
	case !e.Began.IsZero():
		s.time.begin(e.Began)
	}
}

// Interval queues what ports did in an interval.
func (s *Stream) Interval(i trials.Interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue(false, s.run.Interval(i, s.time.at(i.Began.Add(i.At)))...)
}

// Readings queues what the device reported of itself at a time of the day.
func (s *Stream) Readings(at time.Time, samples []telemetry.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue(false, s.run.Readings(at, samples)...)
}

// queue encodes points; the lock is held.
func (s *Stream) queue(rows bool, points ...metrics.Point) {
	for _, p := range points {
		line, err := p.AppendLine(nil)
		if err != nil {
			s.log.Error("a point is not written", "error", err.Error())
			continue
		}
		if rows {
			s.rows = append(s.rows, line)
			continue
		}
		s.series = append(s.series, line)
		s.bytes += len(line)
	}
	s.trim()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// trim drops the oldest series that are too many; the lock is held.
func (s *Stream) trim() {
	n := 0
	for ; s.bytes > maxQueued; n++ {
		s.bytes -= len(s.series[n])
	}
	s.series = s.series[n:]
	s.counts.Dropped += int64(n)
}

// loop hands on until all is handed on and stopping ends, or ctx ends.
func (s *Stream) loop(ctx, stopping context.Context) {
	defer close(s.done)
	for {
		select {
		case <-s.more:
		case <-stopping.Done():
		case <-ctx.Done():
			return
		}
		pause(stopping, flushAfter)
		for s.hand(ctx) {
			if s.failed() {
				pause(ctx, again)
			}
		}
		if ctx.Err() != nil || stopping.Err() != nil && s.Counts().Queued == 0 {
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (s *Stream) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

// hand hands on what is queued, as much as fits, and reports whether there is more to do.
func (s *Stream) hand(ctx context.Context) (more bool) {
	s.mu.Lock()
	rows, restOfRows, size := cut(s.rows, maxHanded)
	series, restOfSeries, _ := cut(s.series, maxHanded-size)
	s.rows, s.series = restOfRows, restOfSeries
	for _, line := range series {
		s.bytes -= len(line)
	}
	s.mu.Unlock()
	if len(rows)+len(series) == 0 || ctx.Err() != nil {
		s.back(rows, series)
		return false
	}
	err := s.target.Take(ctx, rows, series)
	if err != nil {
		s.back(rows, series)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.counts.Handed += int64(len(rows) + len(series))
		if s.failing {
			s.log.Info("metrics are handed on again")
		}
	case !s.failing && ctx.Err() == nil:
		s.log.Warn("metrics cannot be handed on, and are queued", "error", err.Error())
	}
	s.failing = err != nil
	return ctx.Err() == nil
}

// back puts lines in front of those that came meanwhile.
func (s *Stream) back(rows, series [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(rows[:len(rows):len(rows)], s.rows...)
	s.series = append(series[:len(series):len(series)], s.series...)
	for _, line := range series {
		s.bytes += len(line)
	}
	s.trim()
}

// cut takes lines of about so many bytes, at least one where bytes is above 0.
func cut(lines [][]byte, bytes int) (taken, rest [][]byte, size int) {
	n := 0
	for n < len(lines) && size < bytes {
		size += len(lines[n])
		n++
	}
	return lines[:n], lines[n:], size
}

// Counts returns the number of points so far, by their state.
func (s *Stream) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Queued = int64(len(s.rows) + len(s.series))
	return c
}

// Close hands on what is queued until ctx ends, and says what became of the points.
func (s *Stream) Close(ctx context.Context) Counts {
	s.stop()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.give()
		<-s.done
	}
	s.give()
	return s.Counts()
}
