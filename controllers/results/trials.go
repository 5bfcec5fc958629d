package results

import (
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
)

// verdicts and reasons are the words that records of trials may have.
var (
	verdicts = []v1alpha1.TrialVerdict{v1alpha1.TrialPassed, v1alpha1.TrialFailed, v1alpha1.TrialVoid}
	reasons  = []v1alpha1.TrialReason{
		v1alpha1.TrialShortOfLoad, v1alpha1.TrialHeldBack, v1alpha1.TrialTesterLost, v1alpha1.TrialStalled, v1alpha1.TrialLink,
		v1alpha1.TrialSessionDown, v1alpha1.TrialRouterDown, v1alpha1.TrialContended, v1alpha1.TrialEndedEarly, v1alpha1.TrialEndedLate,
	}
)

// trials reports the first record of a trial that cannot be stored or that contradicts itself.
func trials(row *v1alpha1.ResultRow) error {
	if row.TrialRecords == nil {
		return nil
	}
	decides := 0
	for i := range row.TrialRecords.Trials {
		r := &row.TrialRecords.Trials[i]
		switch {
		case !slices.Contains(verdicts, r.Verdict):
			return fmt.Errorf("trial %d has the verdict %q", r.Number, human.Cut(string(r.Verdict), 64))
		case slices.ContainsFunc(r.Reasons, func(one v1alpha1.TrialReason) bool { return !slices.Contains(reasons, one) }):
			return fmt.Errorf("trial %d has a reason that is not known: %q", r.Number, human.Cut(fmt.Sprint(r.Reasons), 256))
		case r.Lost > r.Expected:
			return fmt.Errorf("trial %d lost %d frames of %d", r.Number, r.Lost, r.Expected)
		case r.Decides:
			decides++
		}
	}
	if decides > 1 {
		return fmt.Errorf("%d trials decided it, and at most one can", decides)
	}
	return nil
}
