package verify

import (
	"fmt"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func (c *check) groupDelay() {
	c.atLoad()
	g := c.row.GroupDelay
	if g == nil {
		return
	}
	const in = "groupDelay."
	all := c.figure("delayNs")
	c.is(in+"repetitions", int64(len(c.role(""))))
	c.summary(in, all)
	c.ifAny(in+"unseen", c.figure("unseen").sum)
	for i, p := range g.Ports {
		prefix := fmt.Sprintf("%sports[%d].", in, i)
		if one := c.figure("delayNs " + p.Port); one.count > 0 {
			c.summary(prefix, one)
			continue
		}
		c.between(prefix+"avgNs", p.MinNs, p.MaxNs)
		c.between(prefix+"minNs", all.min, p.MaxNs)
		c.between(prefix+"maxNs", p.MinNs, all.max)
	}
	groups, ports := c.groups()
	if len(groups) > 0 {
		c.is(in+"groups", int64(len(groups)))
		if c.test.GroupJoinDelay == nil || g.Method != v1alpha1.GroupJoinMethodB {
			c.is(in+"receivers", int64(ports))
		}
	}
	c.between(in+"groups", 1, 1<<20)
	c.between(in+"receivers", max(1, int64(len(g.Ports))), 1<<20)
	c.slowestStream(in + "resolutionNs")
}

// slowestStream checks the time between two frames of the slowest stream.
func (c *check) slowestStream(field string) {
	bytes := c.averageBytes()
	if c.plan == nil || bytes == nil || c.plan.FlowsHaveSizes() || c.row.FrameMix != "" || c.row.Load.IsRate() || c.decides == nil {
		c.agrees(field, true, "")
		return
	}
	longest := int64(0)
	for _, s := range c.plan.Streams {
		fps := times(line(c.plan.Ports[s.Tx].BitsPerSecond, bytes), ratio(max(s.Times, 1), max(s.Part, 1)), ratio(c.decides.LoadPPM, million))
		longest = max(longest, nearest(times(ratio(second, 1), new(big.Rat).Inv(fps))))
	}
	c.is(field, longest)
}

// groups returns the multicast groups of the plan, and how many ports receive them.
func (c *check) groups() (groups []string, ports int) {
	if c.plan == nil {
		return nil, 0
	}
	receive := map[int]bool{}
	for _, s := range c.plan.Streams {
		if group := s.Headers.DstIP; group.IsMulticast() {
			if !slices.Contains(groups, group.String()) {
				groups = append(groups, group.String())
			}
			for _, port := range s.Rx {
				receive[port] = true
			}
		}
	}
	return groups, len(receive)
}

func (c *check) groupCapacity() {
	c.fixed()
	c.load(c.full())
	if c.row.GroupCapacity == nil {
		return
	}
	const in = "groupCapacity."
	var passed, failed, silent, routes int64
	for _, r := range c.role("") {
		switch lossy := figureOf(r, "lossyGroups"); {
		case because(r, v1alpha1.TrialTesterLost) || because(r, v1alpha1.TrialStalled) || because(r, v1alpha1.TrialShortOfLoad) && !because(r, v1alpha1.TrialHeldBack):
		case lossy == 0 && r.Tried > passed:
			passed, routes = r.Tried, figureOf(r, "multicastRoutes")
		case lossy > 0:
			failed, silent = r.Tried, figureOf(r, "silentGroups")
		}
	}
	c.is(in+"groups", passed)
	c.is(in+"failedGroups", failed)
	c.is(in+"silentGroups", silent)
	c.is(in+"multicastRoutes", routes)
	if _, ports := c.groups(); ports > 0 {
		c.is(in+"receivers", int64(ports))
	}
	c.between(in+"receivers", 1, 1<<20)
}
