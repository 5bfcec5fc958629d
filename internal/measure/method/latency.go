package method

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeLatency() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodLatency, Member: "latency", Mixes: true, Latency: true,
			Given: func(t v1alpha1.Test) bool { return t.Latency != nil },
			Loads: func(t v1alpha1.Test) []v1alpha1.Load { return t.Latency.Loads },
			Steps: func(t v1alpha1.Test, _ plan.Scale) []plan.Step {
				var steps []plan.Step
				for _, load := range t.Latency.Loads {
					steps = append(steps, plan.AtLoad(load, t.Latency.TrialDuration.Duration))
				}
				return steps
			},
		},
		Run:            latency,
		Purpose:        "latency and jitter of every frame at given loads (RFC 2544 section 26.2, RFC 4689)",
		SampledPurpose: "latency of a share of the frames at given loads (RFC 2544 section 26.2)",
		Lossless:       true,
		Headline: func(row *v1alpha1.ResultRow) (trials.Figure, bool) {
			if row.Latency == nil {
				return trials.Figure{}, false
			}
			f := trials.TimeFigure(row.Latency.AvgNs)
			f.Text += trials.AtLoad(row)
			return f, true
		},
		Trials: func(t v1alpha1.Test) string { return "trials of " + human.Duration(t.Latency.TrialDuration.Duration) },
	}
}

// latency measures latency and jitter of every frame at one load (RFC 2544
// section 26.2, where one tagged frame stands for all; RFC 4689 for jitter).
func latency(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	out, err := tester.AtLoad(ctx, step)
	if err != nil || out.Trial == nil {
		return out, err
	}
	if t := out.Trial; t.Lost > 0 && t.Received > 0 {
		out.Message = fmt.Sprintf("%s of %s frames were lost at this load: latency is of those that came back", traffic.Grouped(t.Lost), traffic.Grouped(t.Expected))
	}
	return out, nil
}
