package verify

import (
	"maps"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// configurationScale verifies the search for the largest number of entries. Numbers that the device rejected have no trial.
func (c *check) configurationScale() {
	c.scaledLoad()
	c.load(c.full())
	s := c.row.ConfigurationScale
	if s == nil {
		return
	}
	const in = "configurationScale."
	without := c.meanWithout(in)
	var balance = map[int64]int{}
	last := map[int64]*v1alpha1.TrialRecord{}
	failed := map[int64]*v1alpha1.TrialRecord{}
	for _, r := range c.role("") {
		switch c.scaleAnswer(r, without) {
		case 1:
			balance[r.Tried]++
			last[r.Tried] = r
		case -1:
			balance[r.Tried]--
			failed[r.Tried] = r
		}
	}
	// The rejected numbers are known by the row alone.
	rejected := s.Effect == v1alpha1.ScaleRejected
	var most, least int64
	for _, n := range slices.Sorted(maps.Keys(balance)) {
		if rejected && n >= s.FailedEntries {
			break
		}
		if balance[n] <= 0 {
			least = n
			break
		}
		most = n
	}
	if rejected {
		least = s.FailedEntries
	}
	c.is(in+"entries", most)
	c.is(in+"failedEntries", least)
	added := func(field string, r *v1alpha1.TrialRecord) {
		if mean := meanLatency(r); mean != nil && without != nil {
			c.is(in+field, nearest(mean)-nearest(without))
		}
	}
	added("addedLatencyNs", last[most])
	if r := failed[least]; r != nil {
		added("failedAddedLatencyNs", r)
		c.ifAny(in+"failedLost", r.Lost)
		want := v1alpha1.ScaleAddsLatency
		if r.Lost > r.Unreachable || r.Excess > 0 || r.Received == 0 || because(r, v1alpha1.TrialHeldBack) {
			want = v1alpha1.ScaleLosesFrames
		}
		c.complain(in+"effect", s.Effect, s.Effect == want, string(want))
	}
	c.agrees(in+"minimumEntries", s.MinimumEntries >= 1 && s.MinimumEntries <= max(s.Entries, s.FailedEntries), "at least 1, and no more than the numbers that were found")
	c.agrees(in+"maximumEntries", s.MaximumEntries >= max(s.Entries, s.FailedEntries), "at least the numbers that were found")
	c.agrees(in+"configurations", int64(s.Configurations) >= int64(len(balance)), "at least the numbers that were tried")
	c.agrees(in+"unsteady", true, "")
	c.agrees(in+"capped", true, "")
}

// scaledLoad checks a load that may be a share of the throughput.
func (c *check) scaledLoad() {
	t := c.test.ConfigurationScale
	if t == nil || t.ThroughputShare == "" || c.row.Load != v1alpha1.LoadThroughput {
		c.fixed()
		return
	}
	if c.decides != nil {
		c.is("frames.lineRatePPM", c.decides.LoadPPM)
	}
	share, err := v1alpha1.Percentage(t.ThroughputShare).PPM()
	if found, known := c.throughputBefore(); known && err == nil {
		c.is("frames.lineRatePPM", max(1, found*share/million))
	}
	c.agrees("frames.lineRatePPM", true, "")
}

// meanWithout checks and returns the mean latency without the list; nil if it was not measured.
func (c *check) meanWithout(in string) *big.Rat {
	for _, r := range c.role("without") {
		if mean := meanLatency(r); mean != nil {
			c.is(in+"latencyWithoutNs", nearest(mean))
			return mean
		}
	}
	c.agrees(in+"latencyWithoutNs", true, "")
	return nil
}

// meanLatency returns the mean latency of a trial; nil if no frame was timed.
func meanLatency(r *v1alpha1.TrialRecord) *big.Rat {
	if r == nil || r.Latency == nil || r.Latency.Count == 0 {
		return nil
	}
	return ratio(r.Latency.SumNs, r.Latency.Count)
}

// scaleAnswer returns 1 for a trial in which the list had no effect, -1 for one with an effect, and 0 for one that ended the search since the
// tester was the limit.
func (c *check) scaleAnswer(r *v1alpha1.TrialRecord, without *big.Rat) int {
	heldBack := because(r, v1alpha1.TrialHeldBack)
	short := because(r, v1alpha1.TrialShortOfLoad) && !heldBack
	passes := r.Lost <= r.Unreachable && r.Excess == 0 && !heldBack && r.Received > 0
	switch {
	case short || because(r, v1alpha1.TrialTesterLost) || because(r, v1alpha1.TrialStalled), !passes && (because(r, v1alpha1.TrialLink) || because(r, v1alpha1.TrialSessionDown) || because(r, v1alpha1.TrialRouterDown)):
		return 0
	case !passes:
		return -1
	}
	if t := c.test.ConfigurationScale; t != nil && t.MaxAddedLatency != nil && without != nil {
		if mean := meanLatency(r); mean != nil && nearest(mean)-nearest(without) > int64(t.MaxAddedLatency.Duration) {
			return -1
		}
	}
	return 1
}
