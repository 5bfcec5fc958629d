package verify

import (
	"cmp"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// goal contains the conditions under which a load is a bound: a Search Goal of RFC 9971, or,
// without a sum, one trial of full length.
type goal struct {
	loss, exceed int64
	full, sum    int64
	relative     int64
}

// throughput verifies the result of a search.
func (c *check) throughput() {
	t := c.test.Throughput
	if t == nil || c.row.Search == nil {
		c.fixedToTrial()
		c.load(c.full())
		return
	}
	c.searched(t.Search, int64(t.TrialDuration.Duration))
	c.load(c.full())
	c.agrees("search.capped", c.value("search.capped") == 0 || t.TimeLimit != nil, "false, as the test has no timeLimit")
	c.complain("search.method", c.row.Search.Method, c.row.Search.Method == cmp.Or(t.Search, v1alpha1.SearchBinary), string(cmp.Or(t.Search, v1alpha1.SearchBinary)))
}

// broadcast verifies a row of broadcast: a search, and trials at the highest load and of one frame.
func (c *check) broadcast() {
	t := c.test.Broadcast
	if t == nil || c.row.Broadcast == nil {
		c.fixedToTrial()
		c.load(nil)
		return
	}
	c.searched(v1alpha1.SearchBinary, int64(t.TrialDuration.Duration))
	c.agrees("search.capped", c.value("search.capped") == 0, "false")
	receivers := int64(0)
	if speeds, bytes := c.speeds(), c.averageBytes(); len(speeds) > 1 && bytes != nil {
		receivers = int64(len(speeds) - 1)
		// The row counts frames of the streams of the profile.
		c.load(c.broadcastFull(bytes, speeds[0], receivers))
	} else {
		c.load(nil)
	}
	const in = "broadcast."
	most := c.decides
	if other := c.role("maxLoad"); len(other) > 0 {
		most = other[len(other)-1]
	}
	if receivers > 0 {
		c.is(in+"receivers", receivers)
	}
	c.between(in+"receivers", 1, 1<<20)
	if most != nil {
		c.is(in+"maxLoadPPM", offeredPPM(most))
		c.is(in+"forwardingRate", most.ForwardingRate)
		c.is(in+"lossPPM", sharePPM(most.Lost, most.Expected))
		c.is(in+"doubtfulLossPPM", sharePPM(figureOf(most, "doubtfulLost"), most.Expected))
	}
	if single := c.role("single"); len(single) > 0 {
		if l := single[len(single)-1].Latency; l != nil {
			c.ifAny(in+"latencyMinNs", l.MinNs)
			c.ifAny(in+"latencyAvgNs", nearest(ratio(l.SumNs, l.Count)))
			c.ifAny(in+"latencyMaxNs", l.MaxNs)
		}
	}
}

func (c *check) broadcastFull(bytes *big.Rat, speed, receivers int64) *big.Rat {
	return times(line(speed, bytes), ratio(receivers, 1))
}

// searchTrials returns the trials by which a search decided.
func (c *check) searchTrials() []*v1alpha1.TrialRecord { return c.role("") }

// searched verifies the bounds of a search by its trials.
func (c *check) searched(method v1alpha1.SearchMethod, full int64) {
	lower, upper := int64(0), int64(0)
	all := c.searchTrials()
	forgiven := int64(0)
	switch method {
	case v1alpha1.SearchMLRsearch:
		g := c.goal()
		lower, upper = c.classified(all, g)
		c.goalResult(all, g, lower, upper)
	case v1alpha1.SearchInformed:
		kept := slices.DeleteFunc(slices.Clone(all), func(r *v1alpha1.TrialRecord) bool {
			back := r.Verdict == v1alpha1.TrialFailed && takenBack(all, r)
			if back {
				forgiven++
			}
			return back
		})
		lower, upper = bracket(kept, full)
	default:
		lower, upper = bracket(all, full)
	}
	if c.log.Omitted > 0 && !c.copied {
		// Trials at the bounds are in the log, but not each trial that excludes other bounds.
		c.agrees("frames.lineRatePPM", true, "")
	}
	if r := c.decides; r != nil && because(r, v1alpha1.TrialEndedLate) && lower > 0 {
		c.is("frames.lineRatePPM", offeredPPM(r))
	} else {
		c.is("frames.lineRatePPM", lower)
	}
	c.is("search.upperBoundPPM", upper)
	c.ifAny("search.forgiven", forgiven)
	sending := c.log.OmittedSendingNs
	for i := range c.trials {
		if r := &c.trials[i]; r.Role == "" || r.Role == "warmUp" {
			sending += min(r.SendingNs, r.DurationNs)
		}
	}
	c.is("search.trialMilliseconds", sending/million)
}

// bracket returns the highest load that passed a trial of full length below all loads that did not
// pass, and the lowest load that did not pass.
func bracket(all []*v1alpha1.TrialRecord, full int64) (lower, upper int64) {
	for _, r := range all {
		if r.Verdict == v1alpha1.TrialFailed && (upper == 0 || r.LoadPPM < upper) {
			upper = r.LoadPPM
		}
	}
	for _, r := range all {
		if r.Verdict == v1alpha1.TrialPassed && r.DurationNs >= full && (upper == 0 || r.LoadPPM < upper) {
			lower = max(lower, r.LoadPPM)
		}
	}
	return lower, upper
}

// takenBack reports whether a later trial that was not shorter passed at the load of a failure or
// above.
func takenBack(all []*v1alpha1.TrialRecord, failure *v1alpha1.TrialRecord) bool {
	return slices.ContainsFunc(all, func(r *v1alpha1.TrialRecord) bool {
		return r.Number > failure.Number && r.Verdict == v1alpha1.TrialPassed && r.LoadPPM >= failure.LoadPPM && r.DurationNs >= failure.DurationNs
	})
}

// goal returns the goal of the row.
func (c *check) goal() goal {
	t := c.test.Throughput
	own := v1alpha1.LossRatio("0%")
	for _, ratio := range t.LossRatios {
		if ppm, _ := ratio.PPM(); ppm == c.row.LossRatioPPM && ppm > 0 {
			own = ratio
		}
	}
	g := t.Goal(own)
	goal := goal{loss: c.row.LossRatioPPM, full: int64(t.TrialDuration.Duration), sum: int64(g.DurationSum.Duration)}
	goal.exceed, _ = g.ExceedRatio.PPM()
	if g.Width != nil {
		goal.relative, _ = g.Width.PPM()
	}
	return goal
}

// highLoss reports whether a trial lost more than the goal allows. What a tester that fell short
// says of the device is no loss, unless it lost the frames itself.
func (g goal) highLoss(r *v1alpha1.TrialRecord) bool {
	short := because(r, v1alpha1.TrialShortOfLoad)
	lostItself := because(r, v1alpha1.TrialTesterLost) && r.Excess == 0 || because(r, v1alpha1.TrialStalled)
	bound := because(r, v1alpha1.TrialTesterLost) || because(r, v1alpha1.TrialStalled) || short && r.Lost == 0 && !because(r, v1alpha1.TrialHeldBack)
	if g.loss == 0 || bound && !lostItself || r.Sent < r.Intended || r.Sent == 0 {
		return r.Verdict != v1alpha1.TrialPassed
	}
	return ratio(r.Lost, max(r.Expected, 1)).Cmp(ratio(g.loss, million)) > 0
}

// classify classifies a load by its trials (RFC 9971, appendix A): 1 of a lower bound, 2 of an
// upper bound, and 0 of an undecided load.
func (g goal) classify(at []*v1alpha1.TrialRecord) int {
	var goodLong, badLong, goodShort, badShort int64
	for _, r := range at {
		switch high, long := g.highLoss(r), r.DurationNs >= g.full; {
		case high && long:
			badLong += r.DurationNs
		case long:
			goodLong += r.DurationNs
		case high:
			badShort += r.DurationNs
		default:
			goodShort += r.DurationNs
		}
	}
	balance := times(ratio(goodShort, 1), ratio(g.exceed, million-g.exceed))
	effectiveBad := ratio(badLong, 1)
	if excess := new(big.Rat).Sub(ratio(badShort, 1), balance); excess.Sign() > 0 {
		effectiveBad.Add(effectiveBad, excess)
	}
	whole := new(big.Rat).Add(ratio(goodLong, 1), effectiveBad)
	if whole.Cmp(ratio(g.sum, 1)) < 0 {
		whole = ratio(g.sum, 1)
	}
	allowed := times(whole, ratio(g.exceed, million))
	worst := new(big.Rat).Sub(whole, ratio(goodLong, 1))
	switch {
	case worst.Cmp(allowed) <= 0:
		return 1
	case effectiveBad.Cmp(allowed) > 0:
		return 2
	}
	return 0
}

// byLoad returns trials by their loads, in rising order.
func byLoad(all []*v1alpha1.TrialRecord) (loads []int64, at map[int64][]*v1alpha1.TrialRecord) {
	at = map[int64][]*v1alpha1.TrialRecord{}
	for _, r := range all {
		if at[r.LoadPPM] == nil {
			loads = append(loads, r.LoadPPM)
		}
		at[r.LoadPPM] = append(at[r.LoadPPM], r)
	}
	slices.Sort(loads)
	return loads, at
}

// classified returns the Relevant Upper Bound, the lowest load that is an upper bound, and the
// Relevant Lower Bound, the highest lower bound below it.
func (c *check) classified(all []*v1alpha1.TrialRecord, g goal) (lower, upper int64) {
	loads, at := byLoad(all)
	for _, load := range loads {
		switch g.classify(at[load]) {
		case 1:
			lower = load
		case 2:
			return lower, load
		}
	}
	return lower, 0
}

// goalResult verifies the Goal Result of a row.
func (c *check) goalResult(all []*v1alpha1.TrialRecord, g goal, lower, upper int64) {
	if c.row.Search.Goal == nil {
		return
	}
	_, at := byLoad(all)
	const in = "search.goal."
	long := func(load int64) (sum int64) {
		for _, r := range at[load] {
			if r.DurationNs >= g.full {
				sum += r.DurationNs
			}
		}
		return sum
	}
	c.is(in+"lowerBoundMilliseconds", long(lower)/million)
	c.is(in+"upperBoundMilliseconds", long(upper)/million)
	resolution, known := c.resolution()
	if known {
		width := max(resolution, upper*g.relative/million, 1)
		c.answers(in+"regular", lower > 0 && upper > 0 && upper-lower <= width)
	}
	c.agrees(in+"regular", c.value(in+"regular") == 0 || lower > 0 && upper > 0, "false, as a bound is missing")
	if full := c.full(); full != nil {
		c.is(in+"conditionalFramesPerSecond", nearest(times(full, g.conditional(at[lower], lower), ratio(1, million))))
	}
	c.between(in+"conditionalFramesPerSecond", 0, c.value("frames.framesPerSecond"))
}

func (c *check) resolution() (ppm int64, known bool) {
	r := c.test.Throughput.Resolution
	if c.plan != nil {
		return c.plan.Scale(c.plan.SizeOf(*c.row)).PPM(r), true
	}
	if r.IsRate() {
		return 0, false
	}
	amount, err := plan.AmountOf(v1alpha1.Load(r))
	return amount.PPM, err == nil
}

// conditional returns the Conditional Throughput of a load in parts per million (RFC 9971,
// appendix B): the load less the loss ratio that the goal's share of the long trials keeps below.
func (g goal) conditional(at []*v1alpha1.TrialRecord, load int64) *big.Rat {
	if load == 0 {
		return new(big.Rat)
	}
	type long struct {
		loss *big.Rat
		took int64
	}
	var all []long
	total := int64(0)
	for _, r := range at {
		if r.DurationNs >= g.full {
			all = append(all, long{lossOfIntended(r), r.DurationNs})
			total += r.DurationNs
		}
	}
	slices.SortStableFunc(all, func(a, b long) int { return a.loss.Cmp(b.loss) })
	remaining := times(ratio(max(g.sum, total), 1), ratio(million-g.exceed, million))
	quantile := ratio(1, 1)
	for _, one := range all {
		quantile = one.loss
		if remaining.Sub(remaining, ratio(one.took, 1)); remaining.Sign() <= 0 {
			break
		}
	}
	if remaining.Sign() > 0 {
		quantile = ratio(1, 1)
	}
	return times(new(big.Rat).Sub(ratio(1, 1), quantile), ratio(load, 1))
}

// lossOfIntended returns the loss ratio of a trial, in which frames that were not sent count as lost.
func lossOfIntended(r *v1alpha1.TrialRecord) *big.Rat {
	if r.Intended == 0 || r.Expected == 0 {
		if r.Verdict == v1alpha1.TrialPassed {
			return new(big.Rat)
		}
		return ratio(1, 1)
	}
	arrived := times(ratio(r.Sent, r.Intended), ratio(r.Expected-r.Lost, r.Expected))
	if loss := new(big.Rat).Sub(ratio(1, 1), arrived); loss.Sign() > 0 {
		return loss
	}
	return new(big.Rat)
}
