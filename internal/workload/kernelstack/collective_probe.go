package kernelstack

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/base/interrupt"
	"nodrop.dev/nodrop/internal/workload"
)

// probeRepetitions is the number of times that each transfer of a probe is sent. The first one opens the window, and does not count.
const probeRepetitions = 4

// probe sends single transfers to tell which port of a slow link is slow: a ring uses each port once in each direction.
func (run *collective) probe(ctx context.Context, out *workload.Collective) error {
	slowest := run.request.Slowest(*out)
	if slowest == nil || !slowest.Slow {
		return nil
	}
	into, outOf, reference, possible := run.request.ProbePairs(slowest.Link)
	if !possible {
		return nil
	}
	var found workload.Probes
	for _, one := range []struct {
		pair [2]int
		time *time.Duration
	}{{into, &found.Into}, {outOf, &found.OutOf}, {reference, &found.Reference}} {
		took, err := run.single(ctx, one.pair, slowest.Link)
		if err != nil {
			return fmt.Errorf("looking for the slow port: %w", err)
		}
		*one.time = took
	}
	out.Probes = &found
	return nil
}

// single returns the median time of a transfer between two hosts, as long as one of a link, without other load.
func (run *collective) single(ctx context.Context, pair [2]int, like workload.Link) (time.Duration, error) {
	f := &flow{from: run.members[pair[0]], to: run.members[pair[1]], pair: pair}
	defer f.close()
	if err := f.open(ctx, run.request.CongestionControl); err != nil {
		return 0, err
	}
	var bytes int64
	for _, other := range run.flows {
		if other.pair == [2]int{like.From, like.To} {
			bytes = other.transfers[0].Bytes
		}
	}
	deadline := time.Now().Add(iterationTime)
	if err := f.near.SetDeadline(deadline); err != nil {
		return 0, err
	}
	if err := f.far.SetDeadline(deadline); err != nil {
		return 0, err
	}
	stop := interrupt.AtEnd(ctx, func() {
		_ = f.near.SetDeadline(time.Unix(1, 0))
		_ = f.far.SetDeadline(time.Unix(1, 0))
	})
	defer stop()
	t := &transfer{Transfer: workload.Transfer{Bytes: bytes}, landing: make([]byte, bytes), ready: make(chan time.Time, 1), arrived: make(chan struct{}, 1), delivered: make(chan struct{}, 1)}
	f.transfers = []*transfer{t}
	for n := range probeRepetitions {
		sent := make(chan error, 1)
		t.ready <- time.Now()
		go func() { sent <- f.send(ctx) }()
		received := f.receive(n > 0)
		if err := <-sent; err != nil {
			return 0, err
		}
		if received != nil {
			return 0, received
		}
		<-t.arrived
		<-t.delivered
	}
	return workload.Percentile(t.times, 50), nil
}
