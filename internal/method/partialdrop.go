package method

import (
	"context"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
)

func init() { register(v1alpha1.MethodPartialDropRate, partialDropRate) }

// partial names a partial drop rate.
type partial struct {
	test         string
	size         plan.Size
	lossRatioPPM int64
}

// partialDropRate is the highest load at which the loss ratio is not above the one
// asked for (RFC 9971). The search of the throughput found it already, unless that
// row was finished by an earlier run: then it is searched alone.
func partialDropRate(ctx context.Context, lab *Lab, step plan.Step) (Outcome, error) {
	if out, ok := lab.partial[partial{step.Test.Name, step.Size, step.LossRatioPPM}]; ok {
		return out, nil
	}
	return throughput(ctx, lab, step)
}
