package verify

import (
	"context"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/workload"
)

// hostsLimited reports whether the hosts of a workload may have been the limit, or the background that was sent next to them was
// not the one asked for.
func (c *check) hostsLimited() bool {
	if c.figure("busyPPM").max > workload.MaxBusyPPM || c.figure("softnetDrops").sum > 0 || c.figure("busiestPPM").max > workload.MaxBusyPPM {
		return true
	}
	if c.row.Connections != nil || c.row.MessageRate != nil {
		return slices.ContainsFunc(c.log.Trials, func(r v1alpha1.TrialRecord) bool { return len(r.Reasons) > 0 })
	}
	if c.row.RPCLatency == nil && (c.row.Incast == nil || c.row.Incast.Stateless == nil) {
		return false
	}
	return slices.ContainsFunc(c.role(""), func(r *v1alpha1.TrialRecord) bool { return r.Sent < r.Intended-r.Intended/100 })
}

// searchedRate repeats the search for a rate with the verdicts of the trials of a role. It ends at a trial in which the hosts were the
// limit.
func (c *check) searchedRate(role string, minimum, maximum, resolution int32) search.Counted {
	left := c.role(role)
	cfg := search.CountConfig{Min: int64(minimum), Max: int64(maximum), Resolution: int64(max(1, resolution))}
	found, _ := search.Count(context.Background(), cfg, func(_ context.Context, rate int64) (bool, error) {
		if len(left) == 0 || left[0].Tried != rate || len(left[0].Reasons) > 0 && !because(left[0], v1alpha1.TrialContended) {
			return false, errLimited
		}
		one := left[0]
		left = left[1:]
		return one.Verdict == v1alpha1.TrialPassed, nil
	})
	return found
}
