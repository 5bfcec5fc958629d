package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What an MLRsearch takes for what its test does not give. The schema does not fill in
// mlrSearch as a whole, which only this search may have, nor what depends on
// trialDuration.
const (
	mlrExceedRatio      LossRatio = "0%"
	mlrPrecedingTargets int32     = 2
	mlrExpansion        int32     = 2
	// mlrInitialShare of trialDuration are the first trials.
	mlrInitialShare = 60
)

// Goal is the search goal of an MLRsearch for a loss ratio, with what it has of its own
// and what is left out filled in. Without a width, resolution alone decides.
func (t *ThroughputTest) Goal(ratio LossRatio) MLRsearchGoal {
	var goal MLRsearchGoal
	if t.MLRSearch != nil {
		goal = *t.MLRSearch
	}
	for _, own := range goal.Goals {
		if own.LossRatio == ratio {
			goal.ExceedRatio = cmp.Or(own.ExceedRatio, goal.ExceedRatio)
			goal.DurationSum = cmp.Or(own.DurationSum, goal.DurationSum)
		}
	}
	targets := mlrPrecedingTargets
	return MLRsearchGoal{
		ExceedRatio:          cmp.Or(goal.ExceedRatio, mlrExceedRatio),
		InitialTrialDuration: cmp.Or(goal.InitialTrialDuration, &metav1.Duration{Duration: max(t.TrialDuration.Duration/mlrInitialShare, 1)}),
		DurationSum:          cmp.Or(goal.DurationSum, &t.TrialDuration),
		Width:                goal.Width,
		PrecedingTargets:     cmp.Or(goal.PrecedingTargets, &targets),
		Expansion:            cmp.Or(goal.Expansion, mlrExpansion),
	}
}
