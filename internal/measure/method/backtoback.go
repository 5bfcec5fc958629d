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

func describeBackToBack() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodBackToBack, Member: "backToBack",
			Given:   func(t v1alpha1.Test) bool { return t.BackToBack != nil },
			OneSize: "how many frames of a burst fit into the buffer depends on which sizes come first",
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				longest := test.BackToBack.MaxBurstDuration.Duration
				trials := burstTrials(test.BackToBack.Repetitions)
				return []plan.Step{{TrialDuration: longest, Trials: trials, Duration: 2 * longest}}
			},
			Fits: func(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
				var senders []int
				for _, s := range in.Streams {
					senders = append(senders, s.Tx)
				}
				return startTogether(test, in, senders, path)
			},
		},
		Run:     backToBack,
		Purpose: "longest burst at line rate without loss, per sending port (RFC 9004)",
		Headline: burstSummary.Headline(func(s *v1alpha1.BackToBackSummary) trials.Figure {
			return trials.CountFigure(s.AvgFrames, "frames", false)
		}),
		Columns: []trials.Column{
			{Heading: "burst, frames", Name: "avg", Value: burstSummary.Number(func(s *v1alpha1.BackToBackSummary) int64 { return s.AvgFrames })},
			{Heading: "burst, frames", Name: "min", Value: burstSummary.Number(func(s *v1alpha1.BackToBackSummary) int64 { return s.MinFrames })},
			{Heading: "burst, frames", Name: "max", Value: burstSummary.Number(func(s *v1alpha1.BackToBackSummary) int64 { return s.MaxFrames })},
			{Heading: "burst, frames", Name: "stddev", Value: burstSummary.Number(func(s *v1alpha1.BackToBackSummary) int64 { return s.StddevFrames })},
			{Heading: "buffer time, us", Name: "implied", Unit: trials.Nanoseconds, Value: burstSummary.Number(func(s *v1alpha1.BackToBackSummary) int64 { return s.BufferNs })},
			{Heading: "buffer time, us", Name: "corrected", Unit: trials.Nanoseconds, Value: func(row *v1alpha1.ResultRow) (int64, bool) {
				if row.BackToBack == nil {
					return 0, false
				}
				return trials.Pointed(row.BackToBack.CorrectedBufferNs)
			}},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.BackToBack
			exactly := "to the frame"
			if t.ResolutionFrames > 1 {
				exactly = fmt.Sprintf("to %d frames", t.ResolutionFrames)
			}
			return fmt.Sprintf("bursts of up to %s, searched %s, %d times", human.Duration(t.MaxBurstDuration.Duration), exactly, t.Repetitions)
		},
	}
}

var burstSummary = trials.Summary[v1alpha1.BackToBackSummary](func(row *v1alpha1.ResultRow) *v1alpha1.BackToBackSummary { return row.BackToBack })

// backToBack searches the longest burst at line rate that loses nothing, again
// and again, and takes the average (RFC 9004). A device that forwards at line
// rate has no longest burst: it is not searched where the throughput is known to
// be line rate, and searched once where the greatest burst passes.
func backToBack(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	throughput, known := tester.Results.ThroughputBefore(step)
	if known && throughput == v1alpha1.PPM {
		return trials.Outcome{Message: fmt.Sprintf("not measured: the throughput at %s is line rate, so that no burst fills the buffer", step.Size.InWords())}, nil
	}
	t := step.Test.BackToBack
	most, line := tester.Plan.At(step.Size).BurstFrames(step.TrialDuration)
	out := trials.Outcome{LoadPPM: v1alpha1.PPM}
	found, err := longestBursts(ctx, max(most, 1), t.ResolutionFrames, t.Repetitions, func(ctx context.Context, n int64) (*trials.Trial, error) {
		loads, took, err := tester.Plan.At(step.Size).Burst(v1alpha1.PPM, n)
		if err != nil {
			return nil, err
		}
		event := trials.Event{Step: step, LoadPPM: v1alpha1.PPM, Duration: took}
		return tester.Twice(ctx, event, traffic.Trial{Loads: loads}, burstTolerance(took))
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	last := found[len(found)-1]
	out.Trial, out.Limit = last.decisive(), limitOf(found)
	summary := summarize(framesOf(found), line)
	summary.CaughtUpFrames = caughtUp(found)
	switch longest := last.frames; {
	case longest == 0 && out.Trial.Received == 0:
		out.Message = tester.Silence(out.Trial)
	case longest == 0:
		out.Message = "a burst of one frame per port was lost"
	case longest == most:
		out.Message = fmt.Sprintf("bursts of %s, %d frames, passed: the buffer holds at least that, and longer ones were not tried", human.Duration(step.TrialDuration), most)
	case known:
		corrected := correct(summary.BufferNs, throughput)
		summary.CorrectedBufferNs, summary.ThroughputPPM = &corrected, throughput
	default:
		out.Message = "the buffer time is not corrected by what was forwarded meanwhile: no throughput test stands before"
	}
	out.Coarse = human.Join("; ", slowBurst(found), hurried(summary.CaughtUpFrames, t.ResolutionFrames))
	out.Fill = func(row *v1alpha1.ResultRow) { row.BackToBack = &summary }
	return out, nil
}

// slowBurst explains that bursts were sent below line rate, so that the device forwarded more of
// them; empty if they were not.
func slowBurst(found []burst) string {
	slowest := new(big.Rat).SetInt64(v1alpha1.PPM)
	for _, b := range found {
		if t := b.passed; t != nil && t.TxTime > t.Duration {
			share := big.NewRat(v1alpha1.PPM*int64(t.Duration/time.Nanosecond), int64(t.TxTime))
			if share.Cmp(slowest) < 0 {
				slowest = share
			}
		}
	}
	if slowest.Cmp(new(big.Rat).SetInt64(v1alpha1.PPM-1000)) >= 0 {
		return ""
	}
	return fmt.Sprintf("the bursts were sent at %s of line rate", trials.Percent(frame.Round(slowest)))
}

// hurried explains that the tester made up for a delay in a burst that was not forwarded; empty if that
// is not more than the resolution of the search.
func hurried(frames, resolution int64) string {
	if frames <= resolution {
		return ""
	}
	return fmt.Sprintf("the tester sent up to %s frames in a row to make up for a delay: the device may hold that many more", traffic.Grouped(frames))
}

// burstTolerance returns by how much a burst may exceed its duration at line rate: 1 %, and
// 20 µs for the tester to begin and end.
func burstTolerance(d time.Duration) time.Duration { return d/100 + 20*time.Microsecond }

// summarize is the result of repetitions, at a line rate in frames/s. The
// implied buffer time is the average over the line rate.
func summarize(found []int64, line *big.Rat) v1alpha1.BackToBackSummary {
	var all trials.Spread
	for _, f := range found {
		all.Add(f)
	}
	s := v1alpha1.BackToBackSummary{
		Repetitions: int32(len(found)), AvgFrames: all.Average(), MinFrames: all.Min, MaxFrames: all.Max, StddevFrames: trials.Deviation(found),
	}
	if line.Sign() > 0 {
		buffer := all.Mean()
		s.BufferNs = frame.Round(buffer.Mul(buffer, big.NewRat(int64(time.Second), 1)).Quo(buffer, line))
	}
	return s
}

// correct is the buffer time without what left the device while the burst came
// in: of the implied time, the share by which the throughput, in parts per
// million, lies below line rate (RFC 9004).
func correct(impliedNs, throughputPPM int64) int64 {
	share := big.NewRat(v1alpha1.PPM-throughputPPM, v1alpha1.PPM)
	return frame.Round(share.Mul(share, big.NewRat(impliedNs, 1)))
}
