package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MLRsearchGoal contains the settings that all search goals of an MLRsearch share (RFC 9971).
// With the defaults the throughput is the one of RFC 2544. The schema fills them in where
// mlrSearch is given; see ThroughputTest.Goal.
type MLRsearchGoal struct {
	// exceedRatio is the part of the duration sum that may have high loss: the goal
	// exceed ratio of the RFC. One above 0% takes a durationSum of which it is a trial
	// at least.
	// +optional
	// +kubebuilder:default="0%"
	ExceedRatio LossRatio `json:"exceedRatio,omitempty"`
	// initialTrialDuration is the length of the first trials; by default a
	// sixtieth of trialDuration.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('24h')",messageExpression="'initialTrialDuration is ' + self + ': give 10ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	InitialTrialDuration *metav1.Duration `json:"initialTrialDuration,omitempty"`
	// durationSum is the total duration of the trials at one load after which the load is
	// decided; by default trialDuration.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('240h')",messageExpression="'durationSum is ' + self + ': give 100ms to 240h, a number with one of the units ns, us, ms, s, m and h'"
	DurationSum *metav1.Duration `json:"durationSum,omitempty"`
	// width is the maximum distance between the bounds, as a share of the upper bound. It
	// widens resolution at high loads and never goes below it. By default only resolution
	// applies.
	// +optional
	Width *Percentage `json:"width,omitempty"`
	// precedingTargets is the number of coarser targets, with shorter trials, before the goal.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	PrecedingTargets *int32 `json:"precedingTargets,omitempty"`
	// expansion is the factor by which steps grow while a bound is missing.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=16
	Expansion int32 `json:"expansion,omitempty"`
	// goals contains the settings of the goals for single loss ratios.
	// +optional
	// +listType=map
	// +listMapKey=lossRatio
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Goals []LossRatioGoal `json:"goals,omitempty"`
}

// LossRatioGoal contains the settings of the search goal for one loss ratio (RFC 9971). The
// defaults are the settings of mlrSearch.
type LossRatioGoal struct {
	// lossRatio is the one of lossRatios that the goal is for.
	// +required
	LossRatio LossRatio `json:"lossRatio"`
	// exceedRatio is the part of the duration sum that may have high loss; by default
	// mlrSearch.exceedRatio. With 50% of two trials, one that a pause of the machine
	// disturbed does not decide a load.
	// +optional
	ExceedRatio LossRatio `json:"exceedRatio,omitempty"`
	// durationSum is the total duration of the trials at one load after which the load is
	// decided; by default mlrSearch.durationSum.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('240h')",messageExpression="'durationSum is ' + self + ': give 100ms to 240h, a number with one of the units ns, us, ms, s, m and h'"
	DurationSum *metav1.Duration `json:"durationSum,omitempty"`
}

// Defaults of an MLRsearch. The schema cannot fill them in: only this search may have mlrSearch, and
// some of them depend on trialDuration.
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
