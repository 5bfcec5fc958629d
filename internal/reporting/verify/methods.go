package verify

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// methods verify what the rows of each method have in addition to the counts of the trial that decided
// them. A test refuses a method of the catalogue that is absent here.
var methods = map[v1alpha1.Method]func(*check){
	v1alpha1.MethodThroughput:         (*check).throughput,
	v1alpha1.MethodPartialDropRate:    (*check).throughput,
	v1alpha1.MethodLatency:            (*check).atLoad,
	v1alpha1.MethodFrameLoss:          (*check).atLoad,
	v1alpha1.MethodSoak:               (*check).atLoad,
	v1alpha1.MethodRFC2544Latency:     (*check).rfc2544Latency,
	v1alpha1.MethodBackToBack:         (*check).backToBack,
	v1alpha1.MethodBufferSize:         (*check).bufferSize,
	v1alpha1.MethodForwardingRate:     (*check).forwardingRate,
	v1alpha1.MethodOrdering:           (*check).ordering,
	v1alpha1.MethodRecovery:           (*check).recovery,
	v1alpha1.MethodReset:              (*check).reset,
	v1alpha1.MethodAddressCaching:     (*check).addressCaching,
	v1alpha1.MethodAddressLearning:    (*check).addressLearning,
	v1alpha1.MethodBroadcast:          (*check).broadcast,
	v1alpha1.MethodHeadOfLineBlocking: (*check).headOfLine,
	v1alpha1.MethodCongestionControl:  (*check).congestion,
	v1alpha1.MethodGroupJoinDelay:     (*check).groupDelay,
	v1alpha1.MethodGroupLeaveDelay:    (*check).groupDelay,
	v1alpha1.MethodGroupCapacity:      (*check).groupCapacity,
	v1alpha1.MethodRouteCapacity:      (*check).routeCapacity,
	v1alpha1.MethodConvergence:        (*check).convergence,
	v1alpha1.MethodRouteFlap:          (*check).routeFlap,
	v1alpha1.MethodRouteRefresh:       (*check).routeRefresh,
	v1alpha1.MethodBGPRestart:         (*check).bgpRestart,
	v1alpha1.MethodSessionScale:       (*check).sessionScale,
	v1alpha1.MethodFIBTruth:           (*check).fibTruth,
	v1alpha1.MethodConfigurationScale: (*check).configurationScale,
	v1alpha1.MethodIncast:             (*check).incast,
	v1alpha1.MethodConnections:        (*check).connections,
	v1alpha1.MethodRPCLatency:         (*check).rpcLatency,
	v1alpha1.MethodCollectives:        (*check).collectives,
	v1alpha1.MethodBulk:               (*check).bulk,
	v1alpha1.MethodMessageRate:        (*check).messageRate,
}

// Methods reports whether the rows of a method can be verified.
func Methods(name v1alpha1.Method) bool { return methods[name] != nil }

// fixed checks the load of a row that has the load of its trial.
func (c *check) fixed() {
	if c.decides != nil {
		c.is("frames.lineRatePPM", c.decides.LoadPPM)
	}
	n, unit, err := c.row.Load.Amount()
	switch {
	case err == nil && unit == v1alpha1.LoadShare && c.row.Load != "":
		c.is("frames.lineRatePPM", n)
	case c.row.Load == v1alpha1.LoadThroughput:
		if found, known := c.throughputBefore(); known {
			c.is("frames.lineRatePPM", found)
		}
	}
	c.agrees("frames.lineRatePPM", true, "")
}

// throughputBefore returns the load that the nearest throughput test before the row found: the
// median if the test was repeated.
func (c *check) throughputBefore() (found int64, known bool) {
	for _, t := range c.doc.Spec.Tests {
		if t.Name == c.row.Test {
			return found, known
		}
		var all []int64
		for _, rows := range [][]v1alpha1.ResultRow{c.doc.Repetitions, c.doc.Rows} {
			for i := range rows {
				r := &rows[i]
				if r.Test == t.Name && r.Method == v1alpha1.MethodThroughput && r.Variant == c.row.Variant && r.SizeName() == c.row.SizeName() {
					all = append(all, r.Frames.OrZero().LineRatePPM)
				}
			}
			if len(all) > 0 {
				break
			}
		}
		if len(all) > 0 {
			slices.Sort(all)
			found, known = all[(len(all)-1)/2], true
		}
	}
	return found, known
}

func (c *check) atLoad() {
	c.fixed()
	c.load(c.full())
}

func (c *check) rfc2544Latency() {
	c.atLoad()
	if c.row.RFC2544Latency == nil {
		return
	}
	var means spread
	for _, r := range c.role("") {
		if r.Latency != nil {
			means.add(nearest(ratio(r.Latency.SumNs, r.Latency.Count)))
		}
	}
	const in = "rfc2544Latency."
	c.is(in+"repetitions", means.count)
	c.summary(in, means)
	c.is(in+"stddevNs", deviation(means.all))
	wire := int64(0)
	if c.plan != nil {
		for _, s := range c.plan.Streams {
			for _, rx := range s.Rx {
				on := ratio(8*int64(c.row.FrameSize)*second, c.plan.Ports[rx].BitsPerSecond)
				if c.row.RFC2544Latency.Definition == v1alpha1.LatencyStoreAndForward {
					on.Add(on, ratio(8*int64(c.row.FrameSize)*second, c.plan.Ports[s.Tx].BitsPerSecond))
				}
				wire = max(wire, nearest(on))
			}
		}
		c.is(in+"wireNs", wire)
	}
	c.agrees(in+"wireNs", true, "")
	lowest := int64(million)
	for _, r := range c.role("") {
		lowest = min(lowest, offeredPPM(r))
	}
	asked, late := c.value("frames.lineRatePPM"), c.value(in+"lowestOfferedPPM")
	c.agrees(in+"lowestOfferedPPM", late == 0 || late < asked && late >= lowest-lowest/100, fmt.Sprintf("0, or from %d to %d", lowest-lowest/100, asked))
}

// bursts returns the longest burst of each repetition that lost nothing.
func (c *check) bursts() (all spread) {
	best := map[int32]int64{}
	most := int32(0)
	for _, r := range c.role("") {
		if most = max(most, r.Repetition); r.Lost == 0 && r.Excess == 0 {
			best[r.Repetition] = max(best[r.Repetition], r.Tried)
		}
	}
	for i := range most {
		all.add(best[i+1])
	}
	return all
}

// partly reports whether trials of repetitions are left out without which a burst is not known.
// Then the figures under a prefix are checked for consistency only.
func (c *check) partly(in string, found spread) bool {
	if c.log.Omitted == 0 || found.count > 0 && found.min > 0 {
		return false
	}
	c.between(in+"avgFrames", c.value(in+"minFrames"), c.value(in+"maxFrames"))
	for _, path := range c.paths {
		if strings.HasPrefix(path, in) {
			c.agrees(path, true, "")
		}
	}
	return true
}

func (c *check) backToBack() {
	c.fixed()
	c.agrees("frames.lineRatePPM", true, "")
	c.load(c.full())
	if c.row.BackToBack == nil {
		return
	}
	found := c.bursts()
	const in = "backToBack."
	if c.partly(in, found) {
		return
	}
	c.is(in+"repetitions", found.count)
	c.is(in+"avgFrames", found.mean())
	c.is(in+"minFrames", found.min)
	c.is(in+"maxFrames", found.max)
	c.is(in+"stddevFrames", deviation(found.all))
	c.caughtUp(in)
	// The frames of a burst are per port, on the port whose line rate is the lowest.
	if bytes := c.averageBytes(); bytes != nil && c.plan != nil {
		var slowest int64
		for _, s := range c.plan.Streams {
			if speed := c.plan.Ports[s.Tx].BitsPerSecond; slowest == 0 || speed < slowest {
				slowest = speed
			}
		}
		buffer := nearest(times(ratio(found.sum, found.count), ratio(second, 1), new(big.Rat).Inv(line(slowest, bytes))))
		c.is(in+"bufferNs", buffer)
	}
	c.agrees(in+"bufferNs", true, "")
	if c.has(in + "correctedBufferNs") {
		found, _ := c.throughputBefore()
		c.is(in+"throughputPPM", found)
		c.is(in+"correctedBufferNs", nearest(times(ratio(c.value(in+"bufferNs"), 1), ratio(million-found, million))))
	} else {
		c.is(in+"throughputPPM", 0)
	}
}

func (c *check) bufferSize() {
	c.fixed()
	over := int64(0)
	if c.test.BufferSize != nil {
		over, _ = c.test.BufferSize.Oversubscription.PPM()
	}
	if speeds, bytes := c.speeds(), c.averageBytes(); len(speeds) > 0 && bytes != nil && c.decides != nil {
		intended := times(line(speeds[0], bytes), ratio(million+over, million))
		c.is("frames.framesPerSecond", nearest(intended))
		c.is("frames.bitsPerSecond", nearest(times(intended, bytes, ratio(8, 1))))
		c.offered(intended)
	} else {
		c.load(nil)
	}
	if c.row.BufferSize == nil {
		return
	}
	found := c.bursts()
	const in = "bufferSize."
	if c.partly(in, found) {
		return
	}
	c.is(in+"oversubscriptionPPM", over)
	c.is(in+"repetitions", found.count)
	c.is(in+"avgFrames", found.mean())
	c.is(in+"minFrames", found.min)
	c.is(in+"maxFrames", found.max)
	c.is(in+"stddevFrames", deviation(found.all))
	c.is(in+"avgBytes", found.mean()*int64(c.row.FrameSize))
	burst := int64(0)
	if last := found.all[len(found.all)-1]; last > 0 && over > 0 {
		atLine := times(ratio(last, 1), ratio(million, over))
		burst = last + down(atLine)
		if !atLine.IsInt() {
			burst++
		}
	}
	c.is(in+"burstFrames", burst)
	c.between(in+"drainedFrames", 0, max(found.max, c.value(in+"burstFrames")))
	c.caughtUp(in)
}

// caughtUp checks that a port sent no more frames in a row than the longest burst has.
func (c *check) caughtUp(in string) {
	most := int64(0)
	for _, r := range c.trials {
		most = max(most, r.Sent)
	}
	c.between(in+"caughtUpFrames", 0, most)
}

func (c *check) forwardingRate() {
	c.fixed()
	c.load(c.full())
	if c.row.ForwardingRate == nil {
		return
	}
	tried := c.role("")
	if len(tried) == 0 {
		return
	}
	best := tried[0]
	for _, r := range tried {
		if r.ForwardingRate > best.ForwardingRate {
			best = r
		}
	}
	c.is("forwardingRate.atMaxLoad", tried[0].ForwardingRate)
	c.is("forwardingRate.max", best.ForwardingRate)
	c.is("forwardingRate.maxLoadPPM", offeredPPM(best))
	for _, path := range c.paths {
		if strings.HasPrefix(path, "forwardingRate.") && strings.HasSuffix(path, ".low") {
			high := strings.TrimSuffix(path, "low") + "high"
			c.between(path, 0, c.value(high))
			c.between(high, c.value(path), 1<<62)
		}
	}
}

// offeredPPM returns the offered load of a trial in parts per million of line rate.
func offeredPPM(r *v1alpha1.TrialRecord) int64 {
	if r.Intended == 0 || r.DurationNs == 0 {
		return 0
	}
	intended := times(ratio(r.Intended, r.DurationNs), ratio(second, 1))
	share := new(big.Rat).Quo(offeredRate(r), intended)
	return min(r.LoadPPM, down(times(share, ratio(r.LoadPPM, 1))))
}

func (c *check) recovery() {
	if found, known := c.throughputBefore(); known && c.decides != nil {
		c.is("frames.lineRatePPM", min(found*11/10, million))
	}
	c.fixed()
	c.load(c.full())
	if c.row.Recovery == nil {
		return
	}
	took := c.figure("recoveryNs")
	ppm := c.value("frames.lineRatePPM")
	c.is("recovery.repetitions", took.count)
	c.is("recovery.overloadPPM", ppm)
	c.is("recovery.reducedPPM", ppm/2)
	c.summary("recovery.", took)
}

func (c *check) reset() {
	c.atLoad()
	if c.row.Reset == nil {
		return
	}
	off := int64(0)
	if t := c.test.Reset; t != nil && t.Kind == v1alpha1.ResetPower {
		if off = 15 * second; t.PowerOffTime != nil {
			off = int64(t.PowerOffTime.Duration)
		}
	}
	without := func(name string) (s spread) {
		for _, n := range c.figure(name).all {
			s.add(max(n-off, 0))
		}
		return s
	}
	byLoss, byStamps := without("frameLossNs"), without("timestampNs")
	chosen := byLoss
	if c.row.Reset.Method == v1alpha1.ResetByTimestamp {
		chosen = byStamps
	}
	var lost spread
	for _, r := range c.role("") {
		lost.add(r.Lost)
	}
	c.is("reset.repetitions", lost.count)
	c.summary("reset.", chosen)
	c.is("reset.avgLost", lost.mean())
	c.ifAny("reset.frameLossAvgNs", byLoss.mean())
	c.ifAny("reset.timestampAvgNs", byStamps.mean())
	c.ifAny("reset.powerOffNs", off)
}

func (c *check) headOfLine() {
	c.ownStreams()
	if c.row.HeadOfLineBlocking == nil {
		return
	}
	const in = "headOfLineBlocking."
	var alone, together *v1alpha1.TrialRecord
	for i := range c.trials {
		switch r := &c.trials[i]; {
		case r.Role == "alone" && r.Verdict != v1alpha1.TrialVoid:
			alone = r
		case r.Role == "together" && r.Verdict != v1alpha1.TrialVoid:
			together = r
		}
	}
	before, after, full := part(alone, "uncongested"), part(together, "uncongested"), part(together, "congested")
	if before == nil || after == nil || full == nil {
		return
	}
	c.is(in+"aloneLossPPM", sharePPM(before.Lost, before.Expected))
	c.is(in+"uncongestedLossPPM", sharePPM(after.Lost, after.Expected))
	c.is(in+"congestedLossPPM", sharePPM(full.Lost, full.Expected))
	c.is(in+"uncongestedFramesPerSecond", rate(after.Received, max(together.DurationNs, together.SendingNs), second))
	for field, p := range map[string]*v1alpha1.TrialPart{"aloneDelayNs": before, "delayNs": after} {
		if p.Latency != nil {
			c.ifAny(in+field, nearest(ratio(p.Latency.SumNs, p.Latency.Count)))
		}
	}
	if c.has(in + "blocking") {
		c.answers(in+"blocking", sharePPM(after.Lost, after.Expected) > sharePPM(before.Lost, before.Expected))
	}
}

func (c *check) congestion() {
	c.ownStreams()
	if c.row.CongestionControl == nil || c.decides == nil {
		return
	}
	const in = "congestionControl."
	r := c.decides
	took := max(r.DurationNs, r.SendingNs)
	free, full := part(r, "uncongested"), part(r, "congested")
	if free == nil || full == nil {
		return
	}
	c.is(in+"uncongestedLossPPM", sharePPM(free.Lost, free.Expected))
	c.is(in+"congestedLossPPM", sharePPM(full.Lost, full.Expected))
	c.is(in+"uncongestedFramesPerSecond", rate(free.Received, took, second))
	c.is(in+"congestedFramesPerSecond", rate(full.Received, took, second))
	if c.has(in + "headOfLineBlocking") {
		c.answers(in+"headOfLineBlocking", free.Lost > 0)
	}
	if c.has(in + "backPressure") {
		c.answers(in+"backPressure", because(r, v1alpha1.TrialHeldBack))
	}
}

// ownStreams checks the load of two ports that send at the load of the test.
func (c *check) ownStreams() {
	c.fixed()
	speeds, bytes := c.speeds(), c.averageBytes()
	var load v1alpha1.LoadAmount
	switch {
	case c.test.HeadOfLineBlocking != nil:
		load = c.test.HeadOfLineBlocking.Load
	case c.test.CongestionControl != nil:
		load = c.test.CongestionControl.Load
	}
	if len(speeds) < 2 || bytes == nil || load.IsRate() {
		c.load(nil)
		return
	}
	c.load(new(big.Rat).Add(line(speeds[0], bytes), line(speeds[1], bytes)))
}
