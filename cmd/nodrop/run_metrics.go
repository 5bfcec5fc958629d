//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/reporting/metrics/stream"
	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// metricsTokenEnv is the environment variable with the token of the metrics.
	metricsTokenEnv = "NODROP_METRICS_TOKEN" //nolint:gosec // the name of a variable
	// runSpoolBytes bounds what waits for the database of a run.
	runSpoolBytes = 256 << 20
	// maxRunSpools is the maximum number of runs that may write to one database at the same
	// time.
	maxRunSpools = 16
	// lastPoints is the maximum time for which the end of a run waits for a database that
	// accepts points.
	lastPoints = 10 * time.Second
)

// metricsFlags contains the database to which a run writes its metrics, and the interval of
// samples.
type metricsFlags struct {
	sink     sink.Config
	interval time.Duration
}

func (f *metricsFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.sink.URL, "metrics", "", "write rows, trials and samples to the InfluxDB at this URL; the token is that in --metrics-token-file or $"+metricsTokenEnv)
	f.sink.AddFlags(flags, "metrics-")
	flags.Lookup("metrics-api").Usage += " (v2 with a bucket, v1 with a database)"
	flags.DurationVar(&f.interval, "metrics-interval", time.Second, "how often ports are sampled, 100ms to 10s")
}

// config returns the configuration of the database; false if no points are written.
func (f *metricsFlags) config() (sink.Config, bool, error) {
	c := f.sink
	if c.URL == "" {
		if c != (sink.Config{}) {
			return c, false, hint.With(errors.New("there is no --metrics for the other flags of the metrics"), "--metrics URL")
		}
		return c, false, nil
	}
	if c.API == "" {
		c.API = sink.V2
		if c.Database != "" {
			c.API = sink.V1
		}
	}
	if c.TokenFile == "" {
		c.Token = sink.Secret(os.Getenv(metricsTokenEnv))
	}
	if f.interval < 100*time.Millisecond || f.interval > 10*time.Second {
		return c, false, fmt.Errorf("--metrics-interval is %s: 100ms to 10s are allowed", f.interval)
	}
	return c, true, c.Check()
}

// runMetrics writes the metrics of a run in this process. A nil one writes none.
type runMetrics struct {
	stream   *stream.Stream
	spool    *spool.Spool
	path     string
	sink     sink.Sink
	delivery *delivery.Delivery
	interval time.Duration

	end   context.CancelFunc
	ended chan struct{}
}

// openMetrics begins to write metrics of the run that began at a time. What an earlier run
// left for the same database is written, too. Dial may be nil.
func openMetrics(c sink.Config, bundle *manifest.Bundle, began time.Time, interval time.Duration, dial sink.Dial) (*runMetrics, error) {
	to, err := sink.NewHTTP(c, dial)
	if err != nil {
		return nil, err
	}
	run, err := metrics.NewRun(&bundle.Benchmark, &bundle.Profile, &bundle.Bed, began)
	if err != nil {
		return nil, err
	}
	m := &runMetrics{sink: to, interval: interval, ended: make(chan struct{})}
	if m.spool, m.path, err = openRunSpool(to.String()); err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler) // What there is to say is said at the end.
	m.delivery = delivery.New(m.spool, to, quiet)
	m.stream = stream.Open(run, m.spool, quiet, time.Now)
	m.stream.Begin(bundle.Bed.Spec.Engine.Kind)
	ctx, end := context.WithCancel(context.Background())
	m.end = end
	go func() {
		defer close(m.ended)
		m.delivery.Run(ctx)
	}()
	return m, nil
}

// openRunSpool opens the first spool of a database that no other run uses.
func openRunSpool(database string) (*spool.Spool, string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, "", fmt.Errorf("finding a directory for the spool of metrics: %w", err)
	}
	name := canonical.Sum([]byte(database))[:12]
	for n := range maxRunSpools {
		path := filepath.Join(dir, "nodrop", fmt.Sprintf("metrics-%s-%d.db", name, n))
		s, err := spool.Open(path, runSpoolBytes)
		if !errors.Is(err, spool.ErrInUse) {
			return s, path, err
		}
	}
	return nil, "", fmt.Errorf("%d runs write metrics to %s: wait for one to end", maxRunSpools, database)
}

// options make a run write metrics; rows are those that were finished earlier.
func (m *runMetrics) options(given []v1alpha1.ResultRow) []runner.Option {
	if m == nil {
		return nil
	}
	for _, row := range given {
		m.stream.Row(row)
	}
	return []runner.Option{runner.WithLog(m.stream.Row), runner.WithEvents(m.stream.Event)}
}

// gates writes the verdicts of the gates on the rows of the result.
func (m *runMetrics) gates(j *gate.Judgement, rows []v1alpha1.ResultRow) {
	if m != nil {
		m.stream.Gates(j, rows)
	}
}

// follow writes what the device reports of itself; nil without metrics.
func (m *runMetrics) follow() telemetry.Follow {
	if m == nil {
		return nil
	}
	return m.stream.Readings
}

// intervals is the option with which a run shows the intervals of its trials: to the view
// as often as it says, of a bench whose trials take time, and to the metrics.
func intervalOptions(b *standalone.Bench, view *runView, m *runMetrics) []runner.Option {
	switch {
	case m == nil && b.Pace == 0:
		return nil
	case m == nil:
		return []runner.Option{runner.WithIntervals(time.Duration(b.Pace*float64(view.every())), view.watch)}
	}
	every := m.interval
	if b.Pace > 0 {
		every = time.Duration(b.Pace * float64(m.interval))
	}
	return []runner.Option{runner.WithIntervals(every, func(i trials.Interval) {
		m.stream.Interval(i)
		if b.Pace > 0 {
			view.watch(i)
		}
	})}
}

// close writes what is left, as long as the database takes it, and says what was written.
func (m *runMetrics) close(ctx context.Context) string {
	if m == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lastPoints)
	defer cancel()
	queued := m.stream.Close(ctx)
	for ctx.Err() == nil {
		changed := m.spool.Changed()
		if s := m.delivery.Stats(); s.Points() == 0 || s.Problem != "" {
			break
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	m.end()
	<-m.ended
	said := m.summary(m.delivery.Stats(), queued)
	if err := m.spool.Close(); err != nil {
		said += fmt.Sprintf("; closing the spool: %v", err)
	}
	return said
}

// summary describes how many points were written, wait, were refused or were dropped.
func (m *runMetrics) summary(s delivery.Stats, queued stream.Counts) string {
	count := func(n int64) string { return traffic.Grouped(uint64(n)) }
	parts := []string{fmt.Sprintf("metrics: %s points written to %s", count(s.Written), m.sink)}
	if n := s.Points(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s wait in %s and are written by the next run with this --metrics", count(n), m.path))
	}
	if n := s.Refused.Points; n > 0 {
		parts = append(parts, fmt.Sprintf("the server does not take %s, which are kept there and tried again then", count(n)))
	}
	if n := int64(s.Dropped); n > 0 {
		parts = append(parts, fmt.Sprintf("%s of the oldest samples had no room there and were dropped", count(n)))
	}
	if n := queued.Dropped + queued.Queued; n > 0 {
		parts = append(parts, fmt.Sprintf("%s could not be kept", count(n)))
	}
	if s.Problem != "" {
		parts = append(parts, s.Problem)
	}
	return strings.Join(parts, "; ")
}
