package method

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// maxPoints of a series that a row keeps: beyond that, intervals are joined. A row
// with all of them takes 6 to 11 kB of the 128 kB that an object with rows may have.
const maxPoints = 240

// sampleAgain is the minimum pause after a sampling that failed.
const sampleAgain = 100 * time.Millisecond

// sampler reads a series while a trial runs.
type sampler struct {
	interval time.Duration
	// ports asks for samples by ports and classes, without latency.
	ports bool
	// take takes each sample instead of samples, and returns whether further ones are of use.
	// forget drops what it took, before a trial is repeated. Both may be nil.
	take    func(traffic.Sample) (more bool)
	forget  func()
	samples []traffic.Sample
	// failure is the reason why samples are missing; nil if none failed.
	failure error
}

// action samples every interval of a trial of d. A sampling that fails is begun
// again, and what it missed is missing in the series: the trial goes on without it.
func (s *sampler) action(l *Lab, d time.Duration) (action, error) {
	if l.sampler == nil {
		return action{}, &traffic.MissingError{Engine: string(l.plan.Engine), Cannot: "read counters while a trial runs", Needs: "samplingInterval"}
	}
	a := prepared(func(context.Context, bool) error {
		s.samples, s.failure = s.samples[:0], nil
		if s.forget != nil {
			s.forget()
		}
		return nil
	})
	a.alongside = func(ctx context.Context, _ func()) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		take := func(one traffic.Sample) {
			if s.take == nil {
				s.samples = append(s.samples, withoutLatency(one))
			} else if !s.take(one) {
				cancel()
			}
		}
		for {
			err := l.sampler.Sample(ctx, traffic.Sampling{Interval: s.interval, Span: d, Ports: s.ports}, take)
			if err == nil || ctx.Err() != nil {
				return
			}
			if s.failure == nil {
				s.failure = err
			}
			if errors.Is(err, traffic.ErrUnsupported) || l.sleep(ctx, max(s.interval, sampleAgain)) != nil {
				return
			}
		}
	}
	return a, nil
}

// withoutLatency returns a sample without latency, whose buckets take most of its memory.
func withoutLatency(one traffic.Sample) traffic.Sample {
	if one.Ports == nil {
		return one
	}
	ports := *one.Ports
	ports.Rx = maps.Clone(ports.Rx)
	for at, rx := range ports.Rx {
		rx.Latency = traffic.Latency{}
		ports.Rx[at] = rx
	}
	one.Ports = &ports
	return one
}

// missing describes, for a person, the intervals of a series that were not sampled; empty if
// no sampling failed.
func (s *sampler) missing(d time.Duration) string {
	if s.failure == nil {
		return ""
	}
	all := int(d / s.interval)
	return fmt.Sprintf("%d of %d intervals were not sampled: %v", all-min(all, len(s.samples)), all, s.failure)
}

// series returns the samples as a row stores them, in at most points points; nil if there is
// no interval.
func (s *sampler) series(points int) *v1alpha1.RateSeries {
	var all []traffic.Sample
	last := traffic.Sample{}
	for _, sample := range s.samples {
		if sample.At > last.At { // The trial goes on.
			all = append(all, sample)
			last = sample
		}
	}
	if len(all) == 0 {
		return nil
	}
	series := &v1alpha1.RateSeries{Samples: int32(len(all)), AvgReceivedFramesPerSecond: received(traffic.Sample{}, last)}
	each := (len(all) + points - 1) / points
	var begin, before traffic.Sample
	var rates, whole spread
	var ends []time.Duration
	columns := &series.Points
	for i, sample := range all {
		rate := received(before, sample)
		rates.add(rate)
		whole.add(rate)
		before = sample
		if (i+1)%each > 0 && i+1 < len(all) {
			continue
		}
		ends = append(ends, sample.At)
		columns.SentFramesPerSecond = append(columns.SentFramesPerSecond, increase(begin.Sent, sample.Sent, sample.At-begin.At))
		columns.ReceivedFramesPerSecond = append(columns.ReceivedFramesPerSecond, received(begin, sample))
		if each > 1 {
			columns.MinReceivedFramesPerSecond = append(columns.MinReceivedFramesPerSecond, rates.min)
		}
		begin, rates = sample, spread{}
	}
	setEnds(series, ends, s.interval*time.Duration(each))
	series.MinReceivedFramesPerSecond, series.MaxReceivedFramesPerSecond = whole.min, whole.max
	return series
}

// setEnds sets the end times of the points. It sets one length if all points but the last
// have the intended length, within 1 %, which a chart does not show, or 1 ms. Otherwise it
// sets each end.
func setEnds(series *v1alpha1.RateSeries, ends []time.Duration, length time.Duration) {
	last := len(ends) - 1
	series.DurationMilliseconds = ends[last].Milliseconds()
	within := max(length/100, time.Millisecond)
	equal := length > 0 && ends[last] <= time.Duration(last+1)*length+within
	for i, end := range ends[:last] {
		equal = equal && (end-time.Duration(i+1)*length).Abs() <= within
	}
	if equal {
		series.PointMilliseconds = length.Milliseconds()
		return
	}
	for _, end := range ends {
		series.Points.EndMilliseconds = append(series.Points.EndMilliseconds, end.Milliseconds())
	}
}

// received is the receive rate between two samples, in frames/s.
func received(a, b traffic.Sample) int64 { return increase(a.Received, b.Received, b.At-a.At) }

// increase is the rate between two counts that were taken d apart, in frames/s.
func increase(from, to uint64, d time.Duration) int64 { return perSecond(int64(max(to, from)-from), d) }

// reportsGaps reports whether the engine knows where in a stream frames were lost.
func (l *Lab) reportsGaps(ctx context.Context) (bool, error) {
	info, err := l.gen.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("asking the generator for what it counts: %w", err)
	}
	return info.Capabilities.Gaps, nil
}

// maxSamples that a trial is sampled for.
const maxSamples = 100_000
