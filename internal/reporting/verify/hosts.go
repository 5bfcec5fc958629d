package verify

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
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
	if c.row.RPCLatency == nil {
		return false
	}
	return slices.ContainsFunc(c.role(""), func(r *v1alpha1.TrialRecord) bool { return r.Sent < r.Intended-r.Intended/100 })
}
