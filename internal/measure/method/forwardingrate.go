package method

import (
	"context"
	"fmt"
	"math/big"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

func describeForwardingRate() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodForwardingRate, Member: "forwardingRate", Mixes: true,
			Given: func(t v1alpha1.Test) bool { return t.ForwardingRate != nil },
			Bounds: func(test v1alpha1.Test) []plan.Bound {
				return []plan.Bound{{Field: "maxLoad", Load: test.ForwardingRate.MaxLoad}, {Field: "step", Load: test.ForwardingRate.Step}}
			},
			Together: func(test v1alpha1.Test, at plan.Scale, path *field.Path) field.ErrorList {
				return trials.ValidStep(test.ForwardingRate.Step, v1alpha1.PPM/100, v1alpha1.PPM, "", at, path)
			},
			Steps: func(test v1alpha1.Test, at plan.Scale) []plan.Step {
				t := test.ForwardingRate
				step := plan.Step{Trials: len(forwardingLoads(t, at)), TrialDuration: t.TrialDuration.Duration}
				return []plan.Step{step.Sure(1)}
			},
		},
		Run:     forwardingRate,
		Purpose: "frames forwarded at overload, lost ones or not (RFC 2889 sections 5.1 and 5.6, RFC 2285 section 3.6)",
		Headline: forwarding.Headline(func(s *v1alpha1.ForwardingRateSummary) trials.Figure {
			return trials.CountFigure(s.Max, "frames/s", false)
		}),
		Columns: []trials.Column{
			{Heading: "forwarding rate, frames/s", Name: "at max load", Value: forwarding.Number(func(s *v1alpha1.ForwardingRateSummary) int64 { return s.AtMaxLoad })},
			{Heading: "forwarding rate, frames/s", Name: "maximum", Value: forwarding.Number(func(s *v1alpha1.ForwardingRateSummary) int64 { return s.Max })},
			{Heading: "maximum at", Name: "%", Unit: trials.PPM, Value: forwarding.Number(func(s *v1alpha1.ForwardingRateSummary) int64 { return s.MaxLoadPPM })},
			trials.LossColumn,
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.ForwardingRate
			return fmt.Sprintf("from %s down by %s, trials of %s", trials.OfLineRate(t.MaxLoad), t.Step, human.Duration(t.TrialDuration.Duration))
		},
	}
}

var forwarding = trials.Summary[v1alpha1.ForwardingRateSummary](func(row *v1alpha1.ResultRow) *v1alpha1.ForwardingRateSummary { return row.ForwardingRate })

func forwardingLoads(t *v1alpha1.ForwardingRateTest, at plan.Scale) []v1alpha1.Load {
	return plan.Falling(t.MaxLoad, t.Step, at)
}

// forwardingRate measures the forwarding rate at the maximum offered load
// (FRMOL), and the maximum forwarding rate (MFR) over it and lower loads (RFC 2285
// section 3.6). A load that is not above the maximum found so far cannot forward
// more, so the search ends there. The row's counters are those of the maximum
// offered load.
func forwardingRate(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	var out trials.Outcome
	var summary v1alpha1.ForwardingRateSummary
	for i, load := range forwardingLoads(step.Test.ForwardingRate, tester.Plan.Scale(step.Size)) {
		amount, err := plan.AmountOf(load)
		if err != nil {
			return trials.Outcome{}, err
		}
		if i > 0 && tester.Plan.At(step.Size).FramesPerSecond(amount).Cmp(big.NewRat(summary.Max, 1)) <= 0 {
			break
		}
		found, err := tester.Fixed(ctx, step, amount)
		if err != nil {
			return trials.Outcome{}, err
		}
		rate := found.Trial.ForwardingRate
		if i == 0 {
			out, summary.AtMaxLoad, summary.AtMaxLoadBounds = found, rate, rateBounds(found.Trial)
		}
		if i == 0 || rate > summary.Max {
			summary.Max, summary.MaxBounds, summary.MaxLoadPPM = rate, rateBounds(found.Trial), found.Trial.OfferedPPM()
		}
		// The maximum is over all trials: each of them may have had a higher rate.
		if t := found.Trial; out.Limit == nil && (t.TesterLimited() || t.Doubtful()) {
			out.Limit, out.Several = t, true
		}
	}
	loss := trials.SharePPM(out.Trial.Lost, out.Trial.Expected)
	out.Fill = func(row *v1alpha1.ResultRow) { row.ForwardingRate, row.Frames.LossPPM = &summary, &loss }
	return out, nil
}

// rateBounds returns the bounds of the forwarding rate of a trial; nil if it is exact.
func rateBounds(t *trials.Trial) *v1alpha1.RateBounds {
	b := v1alpha1.RateBounds{Low: t.LowForwardingRate, High: t.ForwardingRate + t.PerSecond(int64(t.DoubtfulLost()))}
	if b.Low == b.High {
		return nil
	}
	return &b
}
