package method

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// RowOf makes the row of an outcome on a modelled device. Package result, which judges
// rows, knows this one: judge_test.go, which is outside of it, puts its function here.
var RowOf func(plan.Plan, trials.Outcome) v1alpha1.ResultRow

func rowOf(p plan.Plan, out trials.Outcome) v1alpha1.ResultRow { return RowOf(p, out) }
