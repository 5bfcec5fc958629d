package method

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
)

func init() {
	load := func(t v1alpha1.Test) v1alpha1.Load { return cmp.Or(t.Soak.Load, "100%") }
	define(Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodSoak, Member: "soak", Mixes: true,
			Given: func(t v1alpha1.Test) bool { return t.Soak != nil },
			Loads: func(t v1alpha1.Test) []v1alpha1.Load { return []v1alpha1.Load{load(t)} },
			Steps: func(t v1alpha1.Test) []plan.Step {
				return []plan.Step{plan.AtLoad(load(t), cmp.Or(t.Soak.Duration.Duration, time.Hour))}
			},
		},
		Run:     soak,
		Purpose: "loss and receive rate in one long trial (at 100%: maximum receive rate, MRR)",
		Columns: []Column{receivedColumn, lossColumn},
		Trials: func(t v1alpha1.Test) string {
			return fmt.Sprintf("one trial of %s at %s", span(t.Soak.Duration.Duration), t.Soak.Load)
		},
	})
}

// soak runs one long trial. At line rate the receive rate is the maximum receive
// rate: what came back, lost frames or not, over the length of the trial.
func soak(ctx context.Context, lab *Lab, step plan.Step) (Outcome, error) {
	out, err := lab.atLoad(ctx, step)
	if err != nil || out.Trial == nil {
		return out, err
	}
	out.Fill = rates(out.Trial)
	return out, nil
}
