package verify

import (
	"cmp"
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// onWire is the number of bytes that a frame takes on the wire in addition to its own: preamble,
// start of frame delimiter and the gap to the next one (IEEE 802.3).
const onWire = frame.WireOverhead

// averageBytes returns the mean size of the frames of the row; nil if it is not known.
func (c *check) averageBytes() *big.Rat {
	if c.plan != nil && c.plan.FlowsHaveSizes() {
		return nil
	}
	if c.row.FrameMix == "" {
		if c.row.FrameSize == 0 {
			return nil
		}
		return ratio(int64(c.row.FrameSize), 1)
	}
	if c.plan == nil {
		return nil
	}
	size := c.plan.SizeOf(*c.row)
	if size.Mix == nil || c.plan.FlowsHaveSizes() {
		return nil
	}
	bytes, weights := int64(0), int64(0)
	for _, one := range size.Mix.Mix {
		bytes, weights = bytes+int64(one.Size)*one.Weight, weights+one.Weight
	}
	return ratio(bytes, weights)
}

// line returns how many frames of the row a port of so many bit/s sends per second.
func line(bitsPerSecond int64, bytes *big.Rat) *big.Rat {
	wire := new(big.Rat).Add(bytes, ratio(onWire, 1))
	return wire.Quo(ratio(bitsPerSecond, 8), wire)
}

// full returns the frames/s of the streams of the plan at full load, a frame counted at each of
// its receivers; nil if it is not known.
func (c *check) full() *big.Rat {
	bytes := c.averageBytes()
	if bytes == nil {
		return nil
	}
	return c.sum(func(speed int64) *big.Rat { return line(speed, bytes) })
}

// sum adds up the frames/s of all streams, whose ports send so much at their speed in bit/s. It is
// nil if the streams are not known, or differ in size.
func (c *check) sum(of func(speed int64) *big.Rat) *big.Rat {
	if c.plan == nil || len(c.plan.Streams) == 0 || c.plan.FlowsHaveSizes() {
		return nil
	}
	type kind struct{ speed, part, times, receivers int64 }
	alike := map[kind]int64{}
	for _, s := range c.plan.Streams {
		alike[kind{c.plan.Ports[s.Tx].BitsPerSecond, max(s.Part, 1), max(s.Times, 1), int64(len(s.Rx))}]++
	}
	sum := new(big.Rat)
	for k, n := range alike {
		sum.Add(sum, times(of(k.speed), ratio(k.times, k.part), ratio(n*k.receivers, 1)))
	}
	return sum
}

// speeds returns the bit/s of the first ports of the bed; nil if they are not known.
func (c *check) speeds() (all []int64) {
	if c.plan == nil {
		return nil
	}
	for _, p := range c.plan.Ports {
		all = append(all, p.BitsPerSecond)
	}
	return all
}

// load recomputes the intended and the offered load of the row. Full are the frames/s of full load
// where they are known exactly, and nil where they follow from the trial only.
func (c *check) load(full *big.Rat) {
	r := c.decides
	if r == nil || !c.has("frames.framesPerSecond") {
		c.withoutTrial()
		return
	}
	if full == nil {
		if !c.loadOfFlows() {
			c.loadByTrial()
		}
		return
	}
	intended := times(full, ratio(c.value("frames.lineRatePPM"), million))
	asked := times(full, ratio(r.LoadPPM, million))
	if n, unit, err := c.row.Load.Amount(); err == nil && c.row.Load.IsRate() {
		frames := ratio(n, 1)
		if unit == v1alpha1.LoadBits {
			frames = times(ratio(n, 8), new(big.Rat).Inv(c.averageBytes()))
		}
		intended = c.sum(func(int64) *big.Rat { return frames })
		asked = intended
	}
	c.is("frames.framesPerSecond", nearest(intended))
	c.is("frames.bitsPerSecond", nearest(times(intended, c.averageBytes(), ratio(8, 1))))
	c.offered(asked)
}

// loadOfFlows recomputes the load of flows that have sizes of their own, and reports whether it
// can: not if one of them is a mix.
func (c *check) loadOfFlows() bool {
	if c.plan == nil || !c.plan.FlowsHaveSizes() || c.row.Load.IsRate() {
		return false
	}
	frames, bits := new(big.Rat), new(big.Rat)
	for _, s := range c.plan.At(c.plan.SizeOf(*c.row)).Streams() {
		bytes := cmp.Or(int64(s.Size), int64(c.row.FrameSize))
		if s.Mixed() || bytes == 0 {
			return false
		}
		one := times(line(c.plan.Ports[s.Tx].BitsPerSecond, ratio(bytes, 1)), ratio(max(s.Times, 1), max(s.Part, 1)), ratio(int64(len(s.Rx)), 1))
		frames.Add(frames, one)
		bits.Add(bits, times(one, ratio(8*bytes, 1)))
	}
	share := ratio(c.value("frames.lineRatePPM"), million)
	c.is("frames.framesPerSecond", nearest(times(frames, share)))
	c.is("frames.bitsPerSecond", nearest(times(bits, share)))
	c.offered(times(frames, ratio(c.decides.LoadPPM, million)))
	return true
}

// offered recomputes the offered load from an intended one in frames/s.
func (c *check) offered(intended *big.Rat) {
	r := c.decides
	if c.value("frames.lineRatePPM") == 0 {
		c.is("frames.offeredFramesPerSecond", nearest(offeredRate(r)))
		return
	}
	share := times(intended, ratio(r.Sent, r.Intended))
	if r.EndedNs == 0 && r.SendingNs > r.DurationNs && r.DurationNs > 0 {
		share.Mul(share, ratio(r.DurationNs, r.SendingNs))
	}
	c.is("frames.offeredFramesPerSecond", nearest(share))
}

// offeredRate returns the frames/s that left the tester in a trial.
func offeredRate(r *v1alpha1.TrialRecord) *big.Rat {
	took := max(r.DurationNs, r.SendingNs)
	if r.EndedNs > 0 {
		took = r.SendingNs
	}
	return times(ratio(r.Sent, took), ratio(second, 1))
}

// loadByTrial checks the load by what the trial intended to send. Streams send whole frames, so
// that the rate is known up to one frame of each stream.
func (c *check) loadByTrial() {
	r := c.decides
	fps := c.value("frames.framesPerSecond")
	receivers := ratio(r.Expected, r.Sent)
	if r.Sent == 0 || receivers.Sign() == 0 {
		receivers = ratio(1, 1)
	}
	streams := int64(64)
	if c.plan != nil {
		streams = int64(2*len(c.plan.Streams) + 8)
	}
	took := r.DurationNs
	if r.EndedNs > 0 {
		took = r.EndedNs
	}
	want := nearest(times(ratio(r.Intended, took), ratio(second, 1), receivers))
	by := nearest(times(ratio(streams, took), ratio(second, 1), receivers)) + 2
	if c.plan != nil && c.plan.FlowsHaveSizes() || c.row.FrameMix != "" {
		by += want / 1000
	}
	c.within("frames.framesPerSecond", want, by)
	if bytes := c.averageBytes(); bytes != nil {
		eight := times(bytes, ratio(8, 1))
		rounding := nearest(eight)/2 + 1
		if c.value("frames.lineRatePPM") == 0 {
			rounding = 0
		}
		c.within("frames.bitsPerSecond", nearest(times(ratio(fps, 1), eight)), rounding)
	} else {
		c.between("frames.bitsPerSecond", 8*64*fps, 8*16384*fps)
	}
	if c.value("frames.lineRatePPM") == 0 {
		c.is("frames.offeredFramesPerSecond", nearest(offeredRate(r)))
		return
	}
	share := times(ratio(fps, 1), ratio(r.Sent, r.Intended))
	if r.EndedNs == 0 && r.SendingNs > r.DurationNs && r.DurationNs > 0 {
		share.Mul(share, ratio(r.DurationNs, r.SendingNs))
	}
	c.within("frames.offeredFramesPerSecond", nearest(share), 1)
}

// withoutTrial checks the load of a row for which nothing was sent.
func (c *check) withoutTrial() {
	if full := c.full(); full != nil && c.has("frames.framesPerSecond") {
		intended := times(full, ratio(c.value("frames.lineRatePPM"), million))
		if c.value("frames.framesPerSecond") > 0 {
			c.is("frames.framesPerSecond", nearest(intended))
			c.is("frames.bitsPerSecond", nearest(times(intended, c.averageBytes(), ratio(8, 1))))
		} else {
			c.ifAny("frames.bitsPerSecond", 0)
		}
	}
	for _, field := range []string{"frames.sent", "frames.received", "frames.lost", "frames.offeredFramesPerSecond", "frames.trialMilliseconds"} {
		c.ifAny(field, 0)
	}
}

// portLoads checks the loads of the sending ports.
func (c *check) portLoads() {
	for _, path := range c.paths {
		if prefix, found := cutSuffix(path, "portLoad.lowestPPM"); found {
			low, high := prefix+"portLoad.lowestPPM", prefix+"portLoad.highestPPM"
			if wanted := c.sentByPorts(prefix); wanted != nil {
				c.is(low, slices.Min(wanted))
				c.is(high, slices.Max(wanted))
				continue
			}
			c.between(low, 0, c.value(high))
			c.between(high, c.value(low), million)
		}
	}
}

// sentByPorts returns the loads of the ports that send, in parts per million of line rate, if all
// that was intended was sent; nil where that is not so or the streams are not known.
func (c *check) sentByPorts(prefix string) []int64 {
	r := c.decides
	if c.plan == nil || r == nil || r.Sent != r.Intended || prefix != "frames." || c.plan.FlowsHaveSizes() || c.row.Load.IsRate() {
		return nil
	}
	shares := map[int]*big.Rat{}
	for _, s := range c.plan.Streams {
		if shares[s.Tx] == nil {
			shares[s.Tx] = new(big.Rat)
		}
		shares[s.Tx].Add(shares[s.Tx], ratio(max(s.Times, 1), max(s.Part, 1)))
	}
	var all []int64
	for _, share := range shares {
		share.Mul(share, ratio(r.LoadPPM, 1))
		if r.EndedNs == 0 && r.SendingNs > r.DurationNs && r.DurationNs > 0 {
			share.Mul(share, ratio(r.DurationNs, r.SendingNs))
		}
		all = append(all, nearest(share))
	}
	return all
}

// planOf makes the plan of a document; nil if the document lacks the bed or the profile.
func planOf(spec *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) *plan.Plan {
	p, err := plan.Build(spec, profile, bed)
	if err != nil {
		return nil
	}
	return &p
}
