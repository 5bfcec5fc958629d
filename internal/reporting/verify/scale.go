package verify

import (
	"cmp"
	"context"
	"errors"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/search"
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
	if c.log.Omitted > 0 { // The search cannot be repeated.
		for _, field := range []string{"entries", "failedEntries", "minimumEntries", "maximumEntries", "configurations", "addedLatencyNs", "failedAddedLatencyNs", "failedLost", "unsteady", "capped"} {
			c.agrees(in+field, true, "")
		}
		return
	}
	found, passed, failed := c.searchAgain(without)
	c.is(in+"entries", found.Passed)
	c.is(in+"failedEntries", found.Failed)
	c.is(in+"configurations", int64(found.Tries))
	bounds := c.entryBounds()
	c.is(in+"minimumEntries", bounds.Min)
	c.is(in+"maximumEntries", bounds.Max)
	if c.has(in + "unsteady") {
		c.answers(in+"unsteady", !found.Steady())
	}
	c.agrees(in+"capped", true, "")
	added := func(field string, r *v1alpha1.TrialRecord) {
		if mean := meanLatency(r); mean != nil && without != nil {
			c.is(in+field, nearest(mean)-nearest(without))
		}
	}
	added("addedLatencyNs", passed[found.Passed])
	want := v1alpha1.ScaleRejected
	if r := failed[found.Failed]; r != nil {
		added("failedAddedLatencyNs", r)
		c.ifAny(in+"failedLost", r.Lost)
		want = v1alpha1.ScaleAddsLatency
		if !c.forwardsAll(r) {
			want = v1alpha1.ScaleLosesFrames
		}
	}
	if found.Failed > 0 {
		c.complain(in+"effect", s.Effect, s.Effect == want, string(want))
	}
}

// entryBounds returns the bounds of the search by the test and the bed.
func (c *check) entryBounds() search.CountConfig {
	bounds := search.CountConfig{Min: 1, Max: v1alpha1.MaxScaleEntries, Resolution: 1}
	if bed := c.doc.Bed; bed != nil {
		for _, scale := range bed.Device.Scales() {
			if scale.Name == c.row.ConfigurationScale.Name {
				bounds.Min, bounds.Max = scale.Range.Minimum, scale.Range.Maximum
			}
		}
	}
	if t := c.test.ConfigurationScale; t != nil {
		bounds.Min, bounds.Max = int64(cmp.Or(t.Minimum, int32(bounds.Min))), int64(cmp.Or(t.Maximum, int32(bounds.Max)))
		bounds.Resolution, bounds.MaxTries = int64(max(1, t.Resolution)), int(t.MaxTrials)
	}
	return bounds
}

// errLimited ends a search as in the run.
var errLimited = errors.New("the tester was the limit")

// searchAgain repeats the search with the answers of the trials. A number without a further trial was rejected. It returns the last trials of
// each number by their answer as well.
func (c *check) searchAgain(without *big.Rat) (found search.Counted, passed, failed map[int64]*v1alpha1.TrialRecord) {
	passed, failed = map[int64]*v1alpha1.TrialRecord{}, map[int64]*v1alpha1.TrialRecord{}
	left := map[int64][]*v1alpha1.TrialRecord{}
	for _, r := range c.role("") {
		left[r.Tried] = append(left[r.Tried], r)
	}
	// What is found up to an error counts.
	found, _ = search.Count(context.Background(), c.entryBounds(), func(_ context.Context, n int64) (bool, error) {
		if len(left[n]) == 0 {
			delete(failed, n)
			return false, nil
		}
		r := left[n][0]
		left[n] = left[n][1:]
		switch c.scaleAnswer(r, without) {
		case 1:
			passed[n] = r
			return true, nil
		case -1:
			failed[n] = r
			return false, nil
		}
		return false, errLimited
	})
	return found, passed, failed
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

// forwardsAll reports whether the device forwarded the load without loss.
func (c *check) forwardsAll(r *v1alpha1.TrialRecord) bool {
	return r.Lost <= r.Unreachable && r.Excess == 0 && r.Received > 0 && !because(r, v1alpha1.TrialHeldBack)
}

// scaleAnswer returns 1 for a trial in which the list had no effect, -1 for one with an effect, and 0 for one that ended the search since the
// tester was the limit.
func (c *check) scaleAnswer(r *v1alpha1.TrialRecord, without *big.Rat) int {
	passes := c.forwardsAll(r)
	short := because(r, v1alpha1.TrialShortOfLoad) && !because(r, v1alpha1.TrialHeldBack)
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
