package verify

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// event recomputes the times of an event.
func (c *check) event(prefix, kind string) (within int64) {
	took, derived := c.figure(kind+"Ns"), c.figure(kind+"LossDerivedNs")
	c.summary(prefix, took)
	c.is(prefix+"lossDerivedAvgNs", derived.mean())
	c.ifAny(prefix+"unseen", c.figure(kind+"Unseen").sum)
	return c.figure(kind + "WithinNs").max
}

func (c *check) convergence() {
	c.fixed()
	c.load(nil)
	t := c.test.Convergence
	if c.row.Convergence == nil || t == nil {
		return
	}
	const in = "convergence."
	within := max(c.event(in+"announce.", "Announce"), c.event(in+"withdraw.", "Withdraw"), int64(t.SamplingInterval.Duration))
	c.is(in+"cycles", int64(t.Cycles))
	c.is(in+"resolutionNs", within)
	c.routesOfSet(in+"routes", t.Routes)
	if n := int64(len(c.row.Convergence.NeverForwardedPrefixes)); n < 100 {
		c.ifAny(in+"neverForwarded", n)
	}
	c.between(in+"neverForwarded", 100, c.row.Convergence.Routes)
}

// routesOfSet recomputes the number of routes of a set.
func (c *check) routesOfSet(field, name string) {
	n := int64(0)
	if c.plan != nil {
		for _, a := range c.plan.Announcements {
			if a.Name == name || name == "" && a.Set == c.plan.Announcements[0].Set {
				n += int64(a.Count)
			}
		}
	}
	if n > 0 {
		c.is(field, n)
	}
	c.agrees(field, true, "")
}

func (c *check) routeFlap() {
	c.fixed()
	c.load(nil)
	t := c.test.RouteFlap
	if c.row.RouteFlap == nil || t == nil || c.decides == nil {
		return
	}
	const in = "routeFlap."
	within := max(c.event(in+"withdraw.", "Withdraw"), c.event(in+"announce.", "Announce"), int64(t.SamplingInterval.Duration))
	c.is(in+"resolutionNs", within)
	c.is(in+"flaps", int64(t.Flaps))
	c.is(in+"flapped", int64(t.Flapped))
	c.routesOfSet(in+"routes", t.Routes)
	c.is(in+"elsewhere", c.decides.Elsewhere)
	c.is(in+"flappedLost", figureOf(c.decides, "flappedLost"))
	c.is(in+"stableLost", c.decides.Lost-figureOf(c.decides, "flappedLost"))
	c.is(in+"lowestFlappedPPM", figureOf(c.decides, "lowestFlappedPPM"))
	c.ifAny(in+"lowestStablePPM", figureOf(c.decides, "lowestStablePPM"))
}

func (c *check) routeRefresh() {
	c.atLoad()
	s, t := c.row.RouteRefresh, c.test.RouteRefresh
	if s == nil || t == nil {
		return
	}
	const in = "routeRefresh."
	took := c.figure("refreshNs")
	c.is(in+"refreshes", int64(t.Refreshes))
	c.ifAny(in+"unseen", c.figure("unseen").sum)
	if s.Refresh != nil {
		c.summary(in+"refresh.", took)
		c.ifAny(in+"routesPerSecond", rate(s.Routes, took.mean(), second))
	}
	c.allRoutes(in+"routes", s.Session)
}

// allRoutes checks the number of routes that the device advertises to a session: those that other
// sessions announce.
func (c *check) allRoutes(field, session string) {
	most := int64(0)
	if c.plan != nil {
		for _, a := range c.plan.Announcements {
			if session == "" || c.plan.Sessions[a.Session].Name != session {
				most += int64(a.Count)
			}
		}
	}
	if session == "" && most > 0 {
		c.is(field, most)
	}
	c.agrees(field, c.value(field) <= most || most == 0, fmt.Sprintf("at most %d", most))
}

func (c *check) bgpRestart() {
	c.atLoad()
	s, t := c.row.BGPRestart, c.test.BGPRestart
	if s == nil || t == nil {
		return
	}
	const in = "bgpRestart."
	c.is(in+"restarts", int64(t.Restarts))
	if c.plan != nil {
		c.is(in+"sessions", int64(len(c.plan.Sessions)))
	}
	c.agrees(in+"sessions", true, "")
	c.allRoutes(in+"routes", "")
	c.summary(in+"outage.", c.figure("outageNs"))
	if s.SessionsBack != nil {
		c.summary(in+"sessionsBack.", c.figure("sessionsBackNs"))
	}
	routes := c.figure("routesBackNs")
	if s.RoutesBack != nil {
		c.summary(in+"routesBack.", routes)
	}
	var lost spread
	for _, r := range c.role("") {
		lost.add(r.Lost)
	}
	c.ifAny(in+"unseen", lost.count-routes.count)
	c.is(in+"avgLost", lost.mean())
}

func (c *check) routeCapacity() {
	s := c.row.RouteCapacity
	if s == nil {
		return
	}
	const in = "routeCapacity."
	var last, held *v1alpha1.TrialRecord
	var full int64
	for _, r := range c.role("block") {
		if last = r; r.Verdict == v1alpha1.TrialPassed {
			held, full = r, full+1
		}
	}
	full += int64(c.log.Omitted) // The last blocks are never left out, and others were held.
	if last == nil {
		return
	}
	routes := int64(0)
	if held != nil {
		routes = held.Tried
	}
	c.is(in+"routes", routes)
	c.is(in+"announced", last.Tried)
	c.is(in+"received", figureOf(last, "receivedRoutes"))
	c.answers(in+"full", last.Verdict != v1alpha1.TrialPassed)
	c.is(in+"fullBlocks", full)
	if c.test.RouteCapacity != nil {
		c.is(in+"block", int64(c.test.RouteCapacity.Block))
	}
	blocks := c.figure("blockNs")
	c.ifAny(in+"routesPerSecond", rate(routes, blocks.sum, second))
	c.ifAny(in+"slowestBlockNs", blocks.max)
	if m := s.Memory; m != nil {
		const memory = in + "memory."
		if held != nil {
			c.is(memory+"heldBytes", figureOf(held, "heldBytes"))
		}
		c.is(memory+"bytesPerRoute", max(0, m.HeldBytes-m.IdleBytes)/max(1, routes))
		for i := range m.Blocks {
			path := fmt.Sprintf("%sblocks[%d]", memory, i)
			at, known := (i+1)*int(m.BlocksEach)-1, c.role("block")
			if c.log.Omitted == 0 && at >= 0 && at < len(known) {
				c.is(path, figureOf(known[at], "heldBytes"))
			}
			c.agrees(path, true, "")
		}
		each := int64(1)
		for full/each > 64 {
			each *= 2
		}
		c.between(memory+"blocksEach", 1, 2*each)
		c.agrees(memory+"idleBytes", true, "")
		c.agrees(memory+"endBytes", true, "")
		c.agrees(memory+"heldBytes", true, "")
	}
}

func (c *check) sessionScale() {
	s := c.row.SessionScale
	if s == nil {
		return
	}
	const in = "sessionScale."
	var best *v1alpha1.TrialRecord
	var tried int64
	full := false
	for _, r := range c.role("sessions") {
		tried = max(tried, r.Tried)
		full = full || r.Verdict != v1alpha1.TrialPassed
		if r.Verdict == v1alpha1.TrialPassed && (best == nil || r.Tried > best.Tried) {
			best = r
		}
	}
	held, took := int64(0), int64(0)
	if best != nil {
		held, took = best.Tried, figureOf(best, "establishNs")
	}
	c.is(in+"sessions", held)
	c.is(in+"tried", tried)
	c.answers(in+"full", full)
	c.is(in+"establishNs", took)
	c.ifAny(in+"sessionsPerSecond", rate(held, took, second))
	soak, flaps, down := c.figure("soakNs").sum, c.figure("flaps").sum, c.figure("down").sum
	c.is(in+"soakNs", soak)
	c.is(in+"flaps", flaps)
	c.is(in+"down", down)
	c.is(in+"flapsPerHour", rate(flaps, soak, hour))
	c.is(in+"downPerHour", rate(down, soak, hour))
}

// fibTruth verifies what became of the frames to each route. The record has the sums: a million
// routes have no place in a row.
func (c *check) fibTruth() {
	s := c.row.FIBTruth
	if s == nil || c.decides == nil {
		return
	}
	const in = "fibTruth."
	c.is(in+"routes", c.figure("routes").sum)
	for _, name := range []string{"forwarded", "dropped", "misrouted", "forgotten", "rounds", "lostProbes"} {
		c.is(in+name, c.figure(name).sum)
	}
	if s.Forwarded+s.Dropped+s.Misrouted != s.Routes {
		c.mismatch(in+"routes", fmt.Sprint(s.Routes), fmt.Sprintf("%d, the forwarded, dropped and misrouted ones", s.Forwarded+s.Dropped+s.Misrouted))
	}
	c.complain(in+"droppedPrefixes", len(s.DroppedPrefixes), int64(len(s.DroppedPrefixes)) <= s.Dropped, fmt.Sprintf("at most %d", s.Dropped))
	c.complain(in+"misroutedPrefixes", len(s.MisroutedPrefixes), int64(len(s.MisroutedPrefixes)) <= s.Misrouted, fmt.Sprintf("at most %d", s.Misrouted))
	if d := s.Delay; d != nil {
		c.is(in+"delay.routes", c.figure("delayRoutes").sum)
		c.is(in+"delay.p50Ns", c.figure("delayP50Ns").sum)
		c.is(in+"delay.p99Ns", c.figure("delayP99Ns").sum)
		c.is(in+"delay.lastNs", c.figure("delayLastNs").sum)
		c.is(in+"delay.resolutionNs", c.figure("delayResolutionNs").sum)
		c.complain(in+"delay.p99Ns", d.P99Ns, d.P50Ns <= d.P99Ns && d.P99Ns <= d.LastNs, "from p50Ns to lastNs")
	}
}
