package method

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeRecovery() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodRecovery, Member: "recovery", Gaps: true, AfterThroughput: true, Mixes: true, Copies: 2,
			Given: func(t v1alpha1.Test) bool { return t.Recovery != nil },
			Steps: func(t v1alpha1.Test, _ plan.Scale) []plan.Step {
				overload, reduced := recoveryTimes(t.Recovery)
				return []plan.Step{{TrialDuration: overload + reduced, Trials: int(t.Recovery.Repetitions)}}
			},
		},
		Run:      recovery,
		Purpose:  "time from the end of an overload to the last lost frame (RFC 2544 section 26.5)",
		Headline: recovered.Headline(func(s *v1alpha1.RecoverySummary) trials.Figure { return trials.TimeFigure(s.AvgNs) }),
		Columns: []trials.Column{
			{Heading: "reduced to", Name: "%", Unit: trials.PPM, Value: recovered.Number(func(s *v1alpha1.RecoverySummary) int64 { return s.ReducedPPM })},
			{Heading: "recovery, us", Name: "min", Unit: trials.Nanoseconds, Value: recovered.Number(func(s *v1alpha1.RecoverySummary) int64 { return s.MinNs })},
			{Heading: "recovery, us", Name: "avg", Unit: trials.Nanoseconds, Value: recovered.Number(func(s *v1alpha1.RecoverySummary) int64 { return s.AvgNs })},
			{Heading: "recovery, us", Name: "max", Unit: trials.Nanoseconds, Value: recovered.Number(func(s *v1alpha1.RecoverySummary) int64 { return s.MaxNs })},
		},
		Trials: func(t v1alpha1.Test) string {
			overload, reduced := recoveryTimes(t.Recovery)
			return fmt.Sprintf("%s of overload, then %s of half of it, %d times", human.Duration(overload), human.Duration(reduced), t.Recovery.Repetitions)
		},
	}
}

var recovered = trials.Summary[v1alpha1.RecoverySummary](func(row *v1alpha1.ResultRow) *v1alpha1.RecoverySummary { return row.Recovery })

func recoveryTimes(t *v1alpha1.RecoveryTest) (overload, reduced time.Duration) {
	return t.OverloadDuration.Duration, t.ReducedDuration.Duration
}

// recovery measures system recovery (RFC 2544 section 26.5). Every stream is sent
// twice, each time with half of the overload; one of the two ends with the
// overload, the other goes on at its rate. So the load halves to the frame, and
// where the last gap is in the stream that goes on says when the last frame was
// lost. The trial with the longest recovery makes the row.
func recovery(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	throughput, known := tester.Results.ThroughputBefore(step)
	if !known {
		return trials.Outcome{}, fmt.Errorf("test %s has no result for %s from which an overload could be made", step.Source, step.Size.InWords())
	}
	switch throughput {
	case 0:
		return trials.Outcome{Message: fmt.Sprintf("not measured: test %s found a throughput of 0 at %s", step.Source, step.Size.InWords())}, nil
	case v1alpha1.PPM:
		return trials.Outcome{Message: fmt.Sprintf("not measured: the throughput at %s is line rate, and nothing overloads the device", step.Size.InWords())}, nil
	}
	ppm := min(throughput*11/10, v1alpha1.PPM)
	overload, reduced := recoveryTimes(step.Test.Recovery)
	out := trials.Outcome{LoadPPM: ppm}
	var times trials.Spread
	twice, next := doubled(tester)
	if n := len(twice) * len(step.Size.All()); n > 1<<16 {
		return trials.Outcome{}, fmt.Errorf("recovery sends every stream twice, and %d streams are more than an engine can count: use a bed with fewer ports: %w", n, traffic.ErrUnsupported)
	}
	err := tester.With(ctx, step, twice, next, func(tester *trials.Tester) error {
		// Of a mix every stream is several, and still the first half ends earlier.
		streams := tester.Plan.At(step.Size).Streams()
		loads, err := tester.Plan.At(step.Size).Loads(plan.Share(ppm))
		if err != nil {
			return err
		}
		for _, s := range streams[:len(streams)/2] {
			l := loads[s.ID]
			l.Frames = framesIn(l.Rate, overload)
			loads[s.ID] = l
		}
		event := trials.Event{Step: step, LoadPPM: ppm, Duration: overload + reduced}
		recovered := func(t *trials.Trial) (took time.Duration) {
			for _, s := range streams[len(streams)/2:] {
				took = max(took, lastLoss(t, s, loads[s.ID].Rate)-overload)
			}
			return t.Stretched(took)
		}
		each := trials.EachLoss(func(t *trials.Trial) bool { return recovered(t) > 0 })
		for range step.Trials {
			t, err := tester.Twice(ctx, event, traffic.Trial{Loads: loads, Duration: event.Duration}, trials.LateTolerance(event.Duration), each)
			if err != nil {
				return err
			}
			took := recovered(t)
			if times.Count == 0 || int64(took) > times.Max {
				out.Trial = t
			}
			if t.TesterLimited() || t.Doubtful() {
				out.Limit, out.Several = t, true
			}
			times.Add(int64(took))
			t.Figure("recoveryNs", int64(took))
		}
		return nil
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	switch longest := time.Duration(times.Max); {
	case out.Trial.Received == 0:
		out.Message = tester.Silence(out.Trial)
	case out.Trial.Lost == 0:
		out.Message = fmt.Sprintf("nothing was lost at %s of line rate: there was no overload to recover from", trials.Percent(ppm))
	case longest >= reduced*99/100:
		out.Message = fmt.Sprintf("frames were lost to the end of the trial: the device did not recover in %s", human.Duration(reduced))
	}
	summary := v1alpha1.RecoverySummary{
		Repetitions: int32(times.Count), OverloadPPM: ppm, ReducedPPM: ppm / 2,
		MinNs: times.Min, AvgNs: times.Average(), MaxNs: times.Max,
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.Recovery = &summary }
	return out, nil
}

// doubled are the streams of the tester twice, and where they are sent to: each of
// them gets half of what the stream would.
func doubled(tester *trials.Tester) ([]plan.Stream, map[uint16]traffic.MAC) {
	n := len(tester.Plan.Streams)
	streams := make([]plan.Stream, 2*n)
	next := make(map[uint16]traffic.MAC, 2*n)
	for i := range streams {
		s := tester.Plan.Streams[i%n]
		mac := tester.Hops.NextHops[s.ID]
		s.ID, s.Part = uint16(i), 2*max(s.Part, 1)
		streams[i], next[s.ID] = s, mac
	}
	return streams, next
}

// framesIn returns the number of frames that a rate sends in d, at least 1.
func framesIn(r traffic.Rate, d time.Duration) uint64 {
	n := new(big.Int).Mul(big.NewInt(r.Frames), big.NewInt(int64(d)))
	return max(1, n.Quo(n, big.NewInt(r.PerNanos)).Uint64())
}

// lastLoss returns the time, from the beginning of the trial, at which the last lost frame
// of a stream was sent; 0 if none was lost.
func lastLoss(t *trials.Trial, s plan.Stream, r traffic.Rate) time.Duration {
	last := time.Duration(0)
	for _, port := range s.Rx {
		last = max(last, lastLossAt(t, s, port, r))
	}
	return last
}

// lastLossAt is lastLoss at one of the receivers.
func lastLossAt(t *trials.Trial, s plan.Stream, port int, r traffic.Rate) time.Duration {
	tx, rx := t.Counters.Measurement.Tx[s.ID], t.Counters.At(s, port)
	number := rx.GapEnd
	switch {
	case rx.Received >= tx.Sent:
		return 0 // A gap that was filled later is reordering.
	case rx.Next < tx.Sent:
		number = tx.Sent
	}
	if number == 0 {
		return 0
	}
	return trials.SentAt(number-1, r)
}
