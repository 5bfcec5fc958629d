package verify

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// methods verify what the rows of each method have besides the counts of the trial that decided
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

func (c *check) ordering() {
	c.fixed()
	c.load(c.full())
	o, r := c.row.Ordering, c.decides
	if o == nil || r == nil {
		return
	}
	c.is("ordering.reorderedPPM", sharePPM(r.Reordered, r.Received))
	c.is("ordering.outOfSequencePPM", sharePPM(r.OutOfSequence, r.Received))
	inOrder, onset := c.orderBounds()
	c.ifAny("ordering.inOrderPPM", inOrder)
	c.ifAny("ordering.onsetPPM", onset)
	if o.Reordering != nil && r.Reordering != nil {
		c.reordering(r)
	}
}

// orderBounds returns the lowest load at which frames were reordered, and the highest one below it
// at which none was, over the rows of the test up to this one.
func (c *check) orderBounds() (inOrder, onset int64) {
	var all []v1alpha1.TrialRecord
	rows := c.rows()
	for i := range rows {
		r := &rows[i]
		if r.Test == c.row.Test && r.Repetition == c.row.Repetition && r.Variant == c.row.Variant && r.SizeName() == c.row.SizeName() && r.TrialRecords != nil {
			all = append(all, r.TrialRecords.Trials...)
		}
		if r == c.row {
			break
		}
	}
	for _, r := range all {
		if r.Verdict != v1alpha1.TrialVoid && r.Reordered > 0 && (onset == 0 || r.LoadPPM < onset) {
			onset = r.LoadPPM
		}
	}
	for _, r := range all {
		if r.Verdict != v1alpha1.TrialVoid && r.Reordered == 0 && !because(&r, v1alpha1.TrialShortOfLoad) && (onset == 0 || r.LoadPPM < onset) {
			inOrder = max(inOrder, r.LoadPPM)
		}
	}
	return inOrder, onset
}

func (c *check) reordering(r *v1alpha1.TrialRecord) {
	const in = "ordering.reordering."
	o := r.Reordering
	c.is(in+"extentMaxFrames", o.ExtentMax)
	c.ifAny(in+"extentUnknown", o.ExtentUnknown)
	c.is(in+"lateMaxNs", o.LateMaxNs)
	c.is(in+"nMax", o.DegreeMax)
	c.is(in+"freeRunFrames", nearest(ratio(max(0, r.Received-r.Reordered), r.Reordered)))
	all := int64(0)
	for i := 0; i+1 < len(o.Extents); i += 2 {
		prefix := fmt.Sprintf("%sextents[%d].", in, i/2)
		c.is(prefix+"from", o.Extents[i])
		c.is(prefix+"frames", o.Extents[i+1])
		high := 2*o.Extents[i] - 1
		if o.Extents[i] < 8 {
			high = o.Extents[i]
		}
		c.ifAny(prefix+"to", high)
		all += o.Extents[i+1]
	}
	if all != r.Reordered {
		c.mismatch(in+"extents", fmt.Sprint(all)+" frames", fmt.Sprint(r.Reordered)+" reordered frames")
	}
	n := 0
	for _, from := range reorderingSteps {
		frames := int64(0)
		for i := 0; i+1 < len(o.Degrees); i += 2 {
			if o.Degrees[i] >= from {
				frames += o.Degrees[i+1]
			}
		}
		if frames == 0 {
			continue
		}
		prefix := fmt.Sprintf("%snReordered[%d].", in, n)
		c.is(prefix+"n", from)
		c.is(prefix+"frames", frames)
		c.is(prefix+"ppm", sharePPM(frames, r.Received))
		n++
	}
	if c.row.Ordering.Reordering.Gaps != nil {
		c.is(in+"gaps.count", o.Gaps)
		c.is(in+"gaps.minFrames", o.GapMin)
		c.is(in+"gaps.avgFrames", nearest(ratio(o.GapSum, o.Gaps)))
	}
}

// reorderingSteps are the n of n-reordering that a row lists: 1 to 8, and the powers of two above.
var reorderingSteps = func() (all []int64) {
	for n := int64(1); n < 8; n++ {
		all = append(all, n)
	}
	for n := int64(8); n < 1<<32; n *= 2 {
		all = append(all, n)
	}
	return all
}()

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
