package verify

import (
	"fmt"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func (c *check) addressCaching() {
	t := c.test.AddressCaching
	if t == nil || c.row.AddressCaching == nil {
		c.testLoad(0)
		return
	}
	const in = "addressCaching."
	c.is(in+"framesPerSecond", int64(t.LearningRate))
	passed, exceeded := c.iterations(in, func(tried int64) (int64, int64) { return tried, int64(t.LearningRate) })
	c.is(in+"addresses", passed)
	c.ifAny(in+"exceededAt", exceeded)
	c.testLoad(int64(t.LearningRate))
}

func (c *check) addressLearning() {
	t := c.test.AddressLearning
	if t == nil || c.row.AddressLearning == nil {
		c.testLoad(0)
		return
	}
	const in = "addressLearning."
	c.is(in+"addresses", int64(t.Addresses))
	passed, exceeded := c.iterations(in, func(tried int64) (int64, int64) { return int64(t.Addresses), tried })
	c.is(in+"addressesPerSecond", passed)
	c.between(in+"offeredPerSecond", 0, max(passed, exceeded)) // less than the rate that was tried
	if c.has(in+"exceededAt") && (exceeded == 0 || c.value(in+"exceededAt") < exceeded) {
		// Rates at which the device forgets addresses meanwhile are not tried, and count as exceeded.
		c.between(in+"exceededAt", passed+1, 1<<62)
	}
	if !c.done[in+"exceededAt"] {
		c.ifAny(in+"exceededAt", exceeded)
	}
	c.testLoad(int64(t.TestRate))
}

// iterations recomputes the iterations of a search for addresses. It returns the highest value that
// passed, and the lowest one that did not.
func (c *check) iterations(in string, of func(tried int64) (addresses, rate int64)) (passed, exceeded int64) {
	for i, one := range c.iterationsOf() {
		prefix := fmt.Sprintf("%siterations[%d].", in, i)
		addresses, rate := of(one.tried)
		c.is(prefix+"addresses", addresses)
		c.is(prefix+"learningFramesPerSecond", rate)
		var sent, received, flooded int64
		good := false
		if t := one.tested; t != nil {
			sent, received, flooded = t.Sent, t.Received, t.Flooded
			good = t.Sent == t.Intended && t.Lost == 0 && t.Flooded == 0 && !because(t, v1alpha1.TrialTesterLost)
		}
		c.is(prefix+"sent", sent)
		c.is(prefix+"received", received)
		c.is(prefix+"flooded", flooded)
		switch {
		case good:
			passed = max(passed, one.tried)
		case exceeded == 0 || one.tried < exceeded:
			exceeded = one.tried
		}
	}
	if exceeded > 0 && exceeded <= passed { // An iteration was repeated, and passed then.
		exceeded = 0
		for _, one := range c.iterationsOf() {
			if one.tried > passed && (exceeded == 0 || one.tried < exceeded) {
				exceeded = one.tried
			}
		}
	}
	return passed, exceeded
}

type iteration struct {
	tried  int64
	tested *v1alpha1.TrialRecord
}

func (c *check) iterationsOf() (all []iteration) {
	last := int32(0)
	for i := range c.trials {
		r := &c.trials[i]
		if r.Repetition != last {
			last = r.Repetition
			all = append(all, iteration{tried: r.Tried})
		}
		if len(all) > 0 && r.Role == "test" {
			all[len(all)-1].tested = r
		}
		if len(all) > 0 && r.Role == "announce" {
			all[len(all)-1].tested = nil // The iteration began again.
		}
	}
	return all
}

// testLoad checks the load of a row whose test frames are sent at a rate in frames/s.
func (c *check) testLoad(fps int64) {
	speeds, bytes := c.speeds(), c.averageBytes()
	if fps == 0 || c.decides == nil || len(speeds) < 2 || bytes == nil {
		c.load(nil)
		c.fixedToTrial()
		return
	}
	// The second of the two ports sends the test frames.
	ppm := max(1, nearest(times(ratio(fps, 1), new(big.Rat).Inv(line(speeds[1], bytes)), ratio(million, 1))))
	c.is("frames.lineRatePPM", ppm)
	c.is("frames.framesPerSecond", fps)
	c.is("frames.bitsPerSecond", nearest(times(ratio(8*fps, 1), bytes)))
	c.offered(ratio(fps, 1))
}

func (c *check) fixedToTrial() {
	if c.decides != nil {
		c.is("frames.lineRatePPM", c.decides.LoadPPM)
	}
	c.agrees("frames.lineRatePPM", true, "")
}
