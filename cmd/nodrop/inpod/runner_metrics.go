//go:build !standalone

package inpod

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
	"nodrop.dev/nodrop/internal/reporting/metrics/stream"
)

// recordAtEnd is the maximum time for which a stopping runner hands over its last points.
const recordAtEnd = 5 * time.Second

// runnerPoints hands the points of a run to the recorder. A nil one hands none.
type runnerPoints struct {
	Client *recorder.Client
	Stream *stream.Stream
	every  time.Duration
	log    *slog.Logger
}

// OpenPoints is nil where the lab has no recorder.
func OpenPoints(config runner.Config, log *slog.Logger) (*runnerPoints, error) {
	r := config.Recorder
	if r == nil {
		return nil, nil
	}
	run, err := metrics.NewRun(&config.Benchmark, &config.Profile, &config.Bed, config.Started.Time)
	if err != nil {
		return nil, fmt.Errorf("making points: %w", err)
	}
	client, err := recorder.Dial(r.Address, pki.Bundle{CA: r.CA, Cert: r.Cert, Key: r.Key})
	if err != nil {
		return nil, err
	}
	return &runnerPoints{Client: client, Stream: stream.Open(run, client, log, time.Now), every: time.Duration(r.IntervalMilliseconds) * time.Millisecond, log: log}, nil
}

// Options make a run hand points over. Given are the rows that were finished before, without
// their series: points of them would have another digest than the rows in the archive.
func (p *runnerPoints) Options(engine v1alpha1.EngineKind, given []v1alpha1.ResultRow) []runner.Option {
	if p == nil {
		return nil
	}
	p.Stream.Begin(engine)
	for _, row := range given {
		p.Stream.Finished(row)
	}
	return []runner.Option{runner.WithLog(p.Stream.Row), runner.WithEvents(p.Stream.Event), runner.WithIntervals(p.every, p.Stream.Interval)}
}

// Follow hands over what the device reports of itself; nil without points.
func (p *runnerPoints) Follow() telemetry.Follow {
	if p == nil {
		return nil
	}
	return p.Stream.Readings
}

// Close hands over what is left, for a few seconds.
func (p *runnerPoints) Close() error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordAtEnd)
	defer cancel()
	counts := p.Stream.Close(ctx)
	p.log.Info("points of the run", "handed", counts.Handed, "dropped", counts.Dropped, "left", counts.Queued)
	var err error
	if counts.Queued > 0 {
		err = fmt.Errorf("%d points were not handed to the recorder, which did not take them", counts.Queued)
	}
	return errors.Join(err, p.Client.Close())
}
