package method

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

func describeSoak() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodSoak, Member: "soak", Mixes: true,
			Given:    func(t v1alpha1.Test) bool { return t.Soak != nil },
			Load:     func(t v1alpha1.Test) v1alpha1.Load { return t.Soak.Load },
			Validate: validateSoak,
			Fits:     fitsSoak,
			Steps: func(t v1alpha1.Test, _ plan.Scale) []plan.Step {
				return []plan.Step{plan.AtLoad(t.Soak.Load, t.Soak.Duration.Duration)}
			},
		},
		Run:      soak,
		Purpose:  "loss and receive rate in one long trial (at 100%: maximum receive rate, MRR)",
		Headline: trials.LossFigure,
		Columns:  []trials.Column{trials.ReceivedColumn, trials.LossColumn},
		Trials: func(t v1alpha1.Test) string {
			text := fmt.Sprintf("one trial of %s at %s", human.Duration(t.Soak.Duration.Duration), t.Soak.Load)
			if t.Soak.SamplingInterval != nil {
				text += ", its rates read every " + human.Duration(t.Soak.SamplingInterval.Duration)
			}
			return text
		},
	}
}

func validateSoak(test v1alpha1.Test, path *field.Path) field.ErrorList {
	t := test.Soak
	if t.SamplingInterval == nil {
		return nil
	}
	interval, d, at := t.SamplingInterval.Duration, t.Duration.Duration, path.Child("samplingInterval")
	switch {
	case interval < 10*time.Millisecond:
		return field.ErrorList{field.Invalid(at, interval.String(), "give 10ms to 1h")}
	case interval > d:
		return field.ErrorList{field.Invalid(at, interval.String(), fmt.Sprintf("the trial takes %s: lower samplingInterval", human.Duration(d)))}
	case d/interval > trials.MaxSamples:
		least := (d/trials.MaxSamples + time.Millisecond - 1).Truncate(time.Millisecond)
		return field.ErrorList{field.Invalid(at, interval.String(), fmt.Sprintf("a trial of %s would have more than %d intervals: raise samplingInterval to %s, or lower duration", human.Duration(d), trials.MaxSamples, least))}
	}
	return nil
}

// fitsSoak refuses a series that the engine cannot sample.
func fitsSoak(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	if test.Soak.SamplingInterval == nil || in.Engine.Sampling {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("samplingInterval"), test.Soak.SamplingInterval.Duration.String(), fmt.Sprintf(
		"the engine %s of test bed %s cannot read counters while a trial runs: leave samplingInterval out, or choose a bed with another engine", in.Bed.Spec.Engine.Kind, in.Bed.Name))}
}

// soak runs one long trial. At line rate the receive rate is the maximum receive
// rate: what came back, lost frames or not, over the length of the trial.
func soak(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	var s trials.Sampler
	var acts []trials.Action
	if interval := step.Test.Soak.SamplingInterval; interval != nil {
		s.Interval = interval.Duration
		act, err := s.Action(tester.Generator, step.TrialDuration)
		if err != nil {
			return trials.Outcome{}, err
		}
		acts = append(acts, act)
	}
	out, err := tester.AtLoad(ctx, step, acts...)
	if err != nil || out.Trial == nil {
		return out, err
	}
	if missing := s.Missing(step.TrialDuration); missing != "" && out.Message == "" {
		out.Message = missing
	}
	fill, series := rates(out.Trial), s.Series(trials.MaxPoints)
	out.Fill = func(row *v1alpha1.ResultRow) {
		fill(row)
		row.Series = series
	}
	return out, nil
}
