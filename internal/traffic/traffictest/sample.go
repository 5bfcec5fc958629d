// Package traffictest has what tests of several engines need.
package traffictest

import (
	"context"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// SampleNow asks an engine for a sample, and returns it, or the error for which there is none.
func SampleNow(t *testing.T, s traffic.Sampler) (traffic.Sample, error) {
	t.Helper()
	return next(t, s, traffic.Sampling{Interval: time.Millisecond, Span: time.Hour})
}

// PortsNow returns a sample as SampleNow does, with the counters of each port.
func PortsNow(t *testing.T, s traffic.Sampler) (traffic.Sample, error) {
	t.Helper()
	sample, err := next(t, s, traffic.Sampling{Interval: time.Millisecond, Span: time.Hour, Ports: true})
	if err == nil && sample.Ports == nil {
		t.Fatal("the sample has no ports")
	}
	return sample, err
}

func next(t *testing.T, s traffic.Sampler, every traffic.Sampling) (traffic.Sample, error) {
	t.Helper()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	samples := make(chan traffic.Sample, 1)
	err := s.Sample(ctx, every, func(s traffic.Sample) {
		select {
		case samples <- s:
		default:
		}
		enough()
	})
	select {
	case got := <-samples:
		return got, nil
	default:
		return traffic.Sample{}, err
	}
}
