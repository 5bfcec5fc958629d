package method

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// fanInFlows fill the port in the middle: the first sends at line rate, the third more.
var fanInFlows = [][2]int{{0, 1}, {2, 1}}

func describeBufferSize() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodBufferSize, Member: "bufferSize",
			WholeDevice: "fills the buffer of the device",
			Topology:    &plan.Topology{Ports: 3, Flows: fanInFlows, OneSpeed: true},
			Given:       func(t v1alpha1.Test) bool { return t.BufferSize != nil },
			OneSize:     "how many frames a buffer takes depends on their size",
			Validate: func(test v1alpha1.Test, path *field.Path) field.ErrorList {
				if _, err := test.BufferSize.Oversubscription.PPM(); err != nil {
					return field.ErrorList{field.Invalid(path.Child("oversubscription"), test.BufferSize.Oversubscription, err.Error())}
				}
				return nil
			},
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				t := test.BufferSize
				trials := burstTrials(t.Repetitions)
				return []plan.Step{{TrialDuration: t.MaxDuration.Duration, Trials: trials, Duration: 2 * t.MaxDuration.Duration}}
			},
			Fits: func(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
				if len(in.Ports) < 3 {
					return nil // refused by the topology
				}
				return startTogether(test, in, []int{fanInFlows[0][0], fanInFlows[1][0]}, path)
			},
		},
		Run:     bufferSize,
		Purpose: "frames that a port holds when it is sent more than line rate (RFC 8239 sections 3 and 4)",
		Headline: heldBy.Headline(func(s *v1alpha1.BufferSizeSummary) trials.Figure {
			return trials.CountFigure(s.AvgFrames, "frames", false)
		}),
		Columns: []trials.Column{
			{Heading: "buffer, frames", Name: "avg", Value: heldBy.Number(func(s *v1alpha1.BufferSizeSummary) int64 { return s.AvgFrames })},
			{Heading: "buffer, frames", Name: "min", Value: heldBy.Number(func(s *v1alpha1.BufferSizeSummary) int64 { return s.MinFrames })},
			{Heading: "buffer, frames", Name: "max", Value: heldBy.Number(func(s *v1alpha1.BufferSizeSummary) int64 { return s.MaxFrames })},
			{Heading: "buffer, frames", Name: "stddev", Value: heldBy.Number(func(s *v1alpha1.BufferSizeSummary) int64 { return s.StddevFrames })},
			{Heading: "buffer", Name: "bytes", Value: heldBy.Number(func(s *v1alpha1.BufferSizeSummary) int64 { return s.AvgBytes })},
			{Heading: "burst", Name: "frames", Value: heldBy.Number(func(s *v1alpha1.BufferSizeSummary) int64 { return s.BurstFrames })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.BufferSize
			return fmt.Sprintf("first port to second at line rate, third to second at %s of it, for up to %s, %d times", t.Oversubscription, human.Duration(t.MaxDuration.Duration), t.Repetitions)
		},
	}
}

var heldBy = trials.Summary[v1alpha1.BufferSizeSummary](func(row *v1alpha1.ResultRow) *v1alpha1.BufferSizeSummary { return row.BufferSize })

// bufferSize searches how many frames beyond line rate a port takes without loss, again
// and again, and averages. A port that takes all that are tried is searched once.
func bufferSize(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	out := trials.Outcome{LoadPPM: v1alpha1.PPM}
	err := tester.WithStreams(ctx, step, between(tester.Plan, fanInFlows), func(tester *trials.Tester) error {
		if err := tester.Learn(ctx); err != nil {
			return err
		}
		t := step.Test.BufferSize
		over, err := t.Oversubscription.PPM()
		if err != nil {
			return err
		}
		f := &fanIn{tester: tester, step: step, overPPM: over}
		line := tester.Plan.At(step.Size).Rate(tester.Plan.Streams[0], plan.Share(v1alpha1.PPM))
		most := max(1, wholeFrames(t.MaxDuration.Duration, line, f.overPPM))
		found, err := longestBursts(ctx, most, t.ResolutionFrames, t.Repetitions, f.try)
		if err != nil {
			return err
		}
		last := found[len(found)-1]
		out.Trial, out.Limit = last.decisive(), limitOf(found)
		summary := f.summarize(framesOf(found))
		summary.DrainedFrames, summary.CaughtUpFrames = drained(found, line), caughtUp(found)
		out.FramesPerSecond = line.Mul(line, big.NewRat(v1alpha1.PPM+f.overPPM, v1alpha1.PPM))
		switch longest := last.frames; {
		case longest == 0 && out.Trial.Received == 0:
			out.Message = tester.Silence(out.Trial)
		case longest == 0:
			out.Message = fmt.Sprintf("one frame beyond line rate was too many for %s: check that the device's port runs at %s", tester.Plan.Ports[1].Name, tester.Plan.Ports[1].Speed)
		case longest == most:
			out.Message = fmt.Sprintf("%s frames beyond line rate passed, and more were not tried: the buffer of %s holds at least that, or the device's port is faster than %s", traffic.Grouped(longest), tester.Plan.Ports[1].Name, tester.Plan.Ports[1].Speed)
		}
		if throughput, known := tester.Results.ThroughputBefore(step); known && throughput < v1alpha1.PPM && out.Message == "" {
			out.Message = fmt.Sprintf("the throughput is %s of line rate, so that frames at line rate fill the buffer too: it holds more than that", trials.Percent(throughput))
		}
		if n := summary.DrainedFrames; n > t.ResolutionFrames {
			out.Coarse = fmt.Sprintf("the tester was late: the port may have sent up to %s of the frames meanwhile", traffic.Grouped(n))
		} else {
			out.Coarse = hurried(summary.CaughtUpFrames, t.ResolutionFrames)
		}
		out.Fill = func(row *v1alpha1.ResultRow) { row.BufferSize = &summary }
		return nil
	})
	return out, err
}

// drained returns the most frames that a port can have sent at line rate in the time by which the
// tester was late in a burst that passed.
func drained(found []burst, line *big.Rat) (most int64) {
	for _, b := range found {
		if t := b.passed; t != nil && t.TxTime > t.Duration {
			most = max(most, 1+wholeFrames(t.TxTime-t.Duration, line, v1alpha1.PPM))
		}
	}
	return most
}

// wholeFrames returns the number of whole frames sent in d at a share of a rate in frames/s.
func wholeFrames(d time.Duration, rate *big.Rat, ppm int64) int64 {
	n := new(big.Rat).Mul(rate, big.NewRat(ppm, v1alpha1.PPM))
	n.Mul(n, big.NewRat(int64(d), int64(time.Second)))
	return new(big.Int).Quo(n.Num(), n.Denom()).Int64()
}

// fanIn runs the trials of a search.
type fanIn struct {
	tester  *trials.Tester
	step    plan.Step
	overPPM int64
}

// atLine returns the number of frames sent at line rate while n frames are sent beyond it.
func (f *fanIn) atLine(n int64) int64 {
	all := new(big.Int).Mul(big.NewInt(n), big.NewInt(v1alpha1.PPM))
	all.Add(all, big.NewInt(f.overPPM-1))
	return all.Quo(all, big.NewInt(f.overPPM)).Int64()
}

// try sends n frames beyond line rate.
func (f *fanIn) try(ctx context.Context, n int64) (*trials.Trial, error) {
	loads, took := map[uint16]traffic.Load{}, time.Duration(0)
	for i, s := range f.tester.Plan.Streams {
		ppm, frames := v1alpha1.PPM, f.atLine(n)
		if i > 0 {
			ppm, frames = f.overPPM, n
		}
		exact := f.tester.Plan.At(f.step.Size).Rate(s, plan.Share(ppm))
		rate, err := traffic.RateOf(exact)
		if err != nil {
			return nil, fmt.Errorf("computing the load of %s: %w", f.tester.Plan.Ports[s.Tx].Name, err)
		}
		loads[s.ID] = traffic.Load{Rate: rate, Frames: uint64(frames)}
		lasts := new(big.Rat).Quo(big.NewRat(frames, 1), exact)
		took = max(took, time.Duration(frame.Round(lasts.Mul(lasts, big.NewRat(int64(time.Second), 1)))))
	}
	return f.tester.Twice(ctx, trials.Event{Step: f.step, LoadPPM: v1alpha1.PPM, Duration: took}, traffic.Trial{Loads: loads}, burstTolerance(took))
}

// summarize is the result of repetitions.
func (f *fanIn) summarize(found []int64) v1alpha1.BufferSizeSummary {
	var all trials.Spread
	for _, n := range found {
		all.Add(n)
	}
	s := v1alpha1.BufferSizeSummary{
		OversubscriptionPPM: f.overPPM, Repetitions: int32(len(found)), AvgFrames: all.Average(), MinFrames: all.Min, MaxFrames: all.Max,
		StddevFrames: trials.Deviation(found), AvgBytes: all.Average() * int64(f.step.Size.Bytes),
	}
	if last := found[len(found)-1]; last > 0 {
		s.BurstFrames = last + f.atLine(last)
	}
	return s
}
