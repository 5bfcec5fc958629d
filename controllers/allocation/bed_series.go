package allocation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// bedSeriesTimeout bounds one attempt to look at the beds and to hand their points over.
const bedSeriesTimeout = 10 * time.Second

// BedSeries hands a point of every bed to the recorder every so often, while this operator
// leads. No point is kept: what the recorder does not take is missing in the series.
type BedSeries struct {
	kit.Base
	Allocator *Allocator
	// failing reports whether the recorder took nothing the last time.
	failing bool
}

var (
	_ manager.Runnable               = (*BedSeries)(nil)
	_ manager.LeaderElectionRunnable = (*BedSeries)(nil)
)

// NeedLeaderElection reports whether only the leader knows the beds.
func (s *BedSeries) NeedLeaderElection() bool { return true }

// Start hands points over until ctx ends.
func (s *BedSeries) Start(ctx context.Context) error {
	ticker := time.NewTicker(s.BedSeries)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		err := s.hand(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !s.failing:
			log.FromContext(ctx).Info("The series of the beds has a gap", "reason", err.Error())
		case err == nil && s.failing:
			log.FromContext(ctx).Info("The series of the beds goes on")
		}
		s.failing = err != nil
	}
}

// hand hands over one point of each bed.
func (s *BedSeries) hand(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bedSeriesTimeout)
	defer cancel()
	beds, err := ask(ctx, s.Allocator.inbox, s.Allocator.takeBeds)
	if err != nil {
		return err
	}
	at := time.Now()
	points := make([]metrics.Point, 0, len(beds))
	for _, b := range beds {
		points = append(points, b.Point(at))
	}
	lines, err := metrics.Lines(points)
	if err != nil || len(lines) == 0 {
		return err
	}
	return s.Metrics.Sample(ctx, lines)
}

// ask has the allocator answer a question between two decisions.
func ask[T any](ctx context.Context, in *inbox, question func() T) (answer T, err error) {
	answered := make(chan T, 1)
	in.note(func(c *changes) { c.asked = append(c.asked, func() { answered <- question() }) })
	select {
	case answer = <-answered:
		return answer, nil
	case <-ctx.Done():
		return answer, fmt.Errorf("asking the allocator: %w", ctx.Err())
	}
}

// meter adds up for how long benchmarks have each bed.
type meter struct {
	inventory *inventory
	// from is the time at which the current sums began.
	from time.Time
}

// add adds up how long benchmarks have the beds.
func (m *meter) add(now time.Time) {
	for _, seen := range m.inventory.beds {
		leased := seen.bed.Status.Lease != nil
		switch {
		case leased && seen.usedSince.IsZero():
			seen.usedSince = now
		case !leased && !seen.usedSince.IsZero():
			seen.used += now.Sub(seen.usedSince)
			seen.usedSince = time.Time{}
		}
	}
}

// take returns the state of the beds that were seen now, and their use since the previous call.
func (m *meter) take(beds []opmetrics.Bed) []metrics.Bed {
	now := time.Now()
	m.add(now)
	var points []metrics.Bed
	for _, b := range beds {
		seen := m.inventory.beds[b.Name]
		bed := metrics.Bed{
			Name: b.Name, Ready: b.Ready, Unschedulable: b.Unschedulable, Quarantined: b.Quarantined,
			Waiting: b.Waiting, Oldest: b.Oldest, Calibrated: b.Calibrated,
			Interval: now.Sub(m.from), Used: seen.used,
		}
		seen.used = 0
		if l := seen.bed.Status.Lease; l != nil {
			bed.Team, bed.Holder, _ = strings.Cut(l.Holder, "/")
			bed.Run = l.UID
			bed.Used += now.Sub(seen.usedSince)
			seen.usedSince = now
		}
		points = append(points, bed)
	}
	m.from = now
	return points
}
