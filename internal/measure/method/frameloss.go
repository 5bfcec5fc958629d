package method

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

func describeFrameLoss() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodFrameLoss, Member: "frameLoss", Mixes: true,
			Given: func(t v1alpha1.Test) bool { return t.FrameLoss != nil },
			Bounds: func(test v1alpha1.Test) []plan.Bound {
				return []plan.Bound{{Field: "maxLoad", Load: test.FrameLoss.MaxLoad}, {Field: "step", Load: test.FrameLoss.Step}}
			},
			Together: frameLossLoads,
			Steps: func(test v1alpha1.Test, at plan.Scale) []plan.Step {
				t := test.FrameLoss
				d := t.TrialDuration.Duration
				var steps []plan.Step
				for i, load := range plan.Falling(t.MaxLoad, t.Step, at) {
					step := plan.AtLoad(load, d)
					if i >= 2 { // Two loads without loss end the test.
						step = step.Sure(0)
					}
					steps = append(steps, step)
				}
				return steps
			},
		},
		Run:      frameLoss,
		Purpose:  "share of lost frames at falling loads, until two lost nothing (RFC 2544 section 26.3)",
		Headline: trials.LossFigure,
		Optional: true,
		Columns:  []trials.Column{trials.ReceivedColumn, trials.LossColumn},
		Trials: func(test v1alpha1.Test) string {
			t := test.FrameLoss
			return fmt.Sprintf("from %s down by %s, trials of %s", trials.OfLineRate(t.MaxLoad), t.Step, human.Duration(t.TrialDuration.Duration))
		},
	}
}

// The step of RFC 2544 section 26.3 is at most 10 %; below 1 % a result would
// have too many rows.
const finestLossStep, coarsestLossStep = v1alpha1.PPM / 100, v1alpha1.PPM / 10

func frameLossLoads(test v1alpha1.Test, at plan.Scale, path *field.Path) field.ErrorList {
	return trials.ValidStep(test.FrameLoss.Step, finestLossStep, coarsestLossStep, ": RFC 2544 section 26.3 allows no coarser step", at, path)
}

// frameLoss measures the loss at one load (RFC 2544 section 26.3). When the two
// loads above it lost nothing, it is not needed. A trial in which the tester fell
// short lost nothing of a load that it did not offer, and does not count.
func frameLoss(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	lossless := 0
	for _, row := range tester.Results.Before(step) {
		lossless++
		if frames := row.Frames.OrZero(); frames.Lost > 0 || frames.Sent == 0 || row.Validity == v1alpha1.ValidityGeneratorBound {
			lossless = 0
		}
	}
	if lossless >= 2 {
		return trials.Outcome{Skipped: true}, nil
	}
	out, err := tester.Fixed(ctx, step, step.Amount)
	if err != nil {
		return trials.Outcome{}, err
	}
	out.Fill = rates(out.Trial)
	return out, nil
}

// rates fills in the loss ratio and the receive rate of a trial.
func rates(t *trials.Trial) func(*v1alpha1.ResultRow) {
	loss, received := trials.SharePPM(t.Lost, t.Expected), trials.ReceivedRate(t)
	return func(row *v1alpha1.ResultRow) {
		row.Frames.LossPPM, row.Frames.ReceivedFramesPerSecond = &loss, &received
	}
}
