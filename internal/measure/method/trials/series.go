package trials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// MaxPoints of a series that a row keeps: beyond that, intervals are joined. A row
// with all of them takes 16 to 28 kB of the 128 kB that an object with rows may have.
const MaxPoints = 240

// sampleAgain is the minimum pause after a sampling that failed.
const sampleAgain = 100 * time.Millisecond

// Sampler reads a series while a trial runs.
type Sampler struct {
	Interval time.Duration
	// Ports asks for samples by ports and classes, without latency.
	Ports bool
	// take takes each sample instead of samples, and returns whether further ones are of use.
	// forget drops what it took, before a trial is repeated. Both may be nil.
	take    func(traffic.Sample) (more bool)
	forget  func()
	Samples []traffic.Sample
	// failure is the reason why samples are missing; nil if none failed.
	failure error
}

// Action samples every interval of a trial of d. A sampling that fails is begun
// again, and what it missed is missing in the series: the trial goes on without it.
func (s *Sampler) Action(g *Generator, d time.Duration) (Action, error) {
	if g.Sampler == nil {
		return Action{}, g.lacks("read counters while a trial runs", "samplingInterval")
	}
	a := Prepared(func(context.Context, bool) error {
		s.Samples, s.failure = s.Samples[:0], nil
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
				s.Samples = append(s.Samples, withoutLatency(one))
			} else if !s.take(one) {
				cancel()
			}
		}
		for {
			err := g.Sampler.Sample(ctx, traffic.Sampling{Interval: s.Interval, Span: d, Ports: s.Ports}, take)
			if err == nil || ctx.Err() != nil {
				return
			}
			if s.failure == nil {
				s.failure = err
			}
			if errors.Is(err, traffic.ErrUnsupported) || g.Sleep(ctx, max(s.Interval, sampleAgain)) != nil {
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

// Missing describes, for a person, the intervals of a series that were not sampled; empty if
// no sampling failed.
func (s *Sampler) Missing(d time.Duration) string {
	if s.failure == nil {
		return ""
	}
	all := int(d / s.Interval)
	return fmt.Sprintf("%d of %d intervals were not sampled: %v", all-min(all, len(s.Samples)), all, s.failure)
}

// Series returns the samples as a row stores them, in at most points points; nil if there is
// no interval.
func (s *Sampler) Series(points int) *v1alpha1.RateSeries {
	var all []traffic.Sample
	last := traffic.Sample{}
	for _, sample := range s.Samples {
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
	var rates, whole Spread
	type interval struct{ frames, ns int64 }
	var least interval
	var ends []time.Duration
	columns := &series.Points
	for i, sample := range all {
		rate := received(before, sample)
		frames, took := int64(max(sample.Received, before.Received)-before.Received), int64(sample.At-before.At)
		if rates.Count == 0 || rate < rates.Min {
			least = interval{frames, took}
		}
		if whole.Count == 0 || rate > whole.Max {
			series.MaxFrames, series.MaxNs = frames, took
		}
		rates.Add(rate)
		whole.Add(rate)
		before = sample
		if (i+1)%each > 0 && i+1 < len(all) {
			continue
		}
		ends = append(ends, sample.At)
		columns.EndNs, columns.SentFrames = append(columns.EndNs, int64(sample.At)), append(columns.SentFrames, int64(sample.Sent))
		columns.ReceivedFrames = append(columns.ReceivedFrames, int64(sample.Received))
		columns.SentFramesPerSecond = append(columns.SentFramesPerSecond, increase(begin.Sent, sample.Sent, sample.At-begin.At))
		columns.ReceivedFramesPerSecond = append(columns.ReceivedFramesPerSecond, received(begin, sample))
		if each > 1 {
			columns.MinReceivedFramesPerSecond = append(columns.MinReceivedFramesPerSecond, rates.Min)
			columns.MinFrames, columns.MinNs = append(columns.MinFrames, least.frames), append(columns.MinNs, least.ns)
		}
		begin, rates = sample, Spread{}
	}
	setEnds(series, ends, s.Interval*time.Duration(each))
	series.MinReceivedFramesPerSecond, series.MaxReceivedFramesPerSecond = whole.Min, whole.Max
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
func increase(from, to uint64, d time.Duration) int64 { return PerSecond(int64(max(to, from)-from), d) }

// MaxSamples that a trial is sampled for.
const MaxSamples = 100_000
