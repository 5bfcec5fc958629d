package verify

import (
	"fmt"
	"slices"
)

// rpcLatency recomputes the times of requests from the record of a row, and the share of the device from them.
func (c *check) rpcLatency() {
	s := c.row.RPCLatency
	if s == nil {
		return
	}
	const in = "rpcLatency."
	for _, r := range c.role("rpc") {
		c.complain("messageSize", c.row.MessageSize, int64(c.row.MessageSize) == r.Tried, fmt.Sprint(r.Tried))
	}
	c.is(in+"requests", c.figure("roundTripNs").count)
	c.is(in+"mtu", c.figure("mtu").sum)
	c.is(in+"retransmissions", c.figure("retransmissions").sum)
	c.ifAny(in+"busyPPM", c.figure("busyPPM").sum)
	through := c.roundTrips("roundTrip")
	if s.BackToBack != nil {
		back := c.roundTrips("backToBack")
		differences := make([]int64, min(len(through), len(back)))
		for i := range differences {
			differences[i] = through[i] - back[i]
		}
		share := c.value(in+"roundTrip.p50Ns") - c.value(in+"backToBack.p50Ns")
		c.is(in+"device.ns", share)
		low, high := around(share, differences)
		c.is(in+"device.lowNs", low)
		c.is(in+"device.highNs", high)
	}
	c.complain(in+"device", s.Device != nil, (s.Device != nil) == (s.BackToBack != nil), "present with backToBack, and absent without")
	c.background()
}

// roundTrips recomputes a distribution, and returns the medians of its rounds.
func (c *check) roundTrips(name string) []int64 {
	in, all := "rpcLatency."+name+".", c.figure(name+"Ns")
	rounds := c.figure(name + "RoundP50Ns").all
	for field, figure := range map[string]string{"p50Ns": "P50Ns", "p90Ns": "P90Ns", "p99Ns": "P99Ns", "p999Ns": "P999Ns"} {
		c.is(in+field, c.figure(name+figure).sum)
	}
	c.is(in+"maxNs", all.max)
	if all.count > 0 {
		c.is(in+"avgNs", all.sum/all.count)
	}
	low, high := around(c.value(in+"p50Ns"), rounds)
	c.is(in+"p50LowNs", low)
	c.is(in+"p50HighNs", high)
	rising := []int64{all.min, c.value(in + "p50Ns"), c.value(in + "p90Ns"), c.value(in + "p99Ns"), c.value(in + "p999Ns"), all.max}
	c.complain(in+"p50Ns", rising, slices.IsSorted(rising), "percentiles in rising order, from the lowest to the highest time")
	return rounds
}

// around returns the 6th lowest and the 6th highest of 20 values, which contain their median with 95.8 %, and a value.
func around(value int64, rounds []int64) (low, high int64) {
	const rank = 6
	if len(rounds) < 2*rank {
		return value, value
	}
	sorted := slices.Sorted(slices.Values(rounds))
	return min(value, sorted[rank-1]), max(value, sorted[len(sorted)-rank])
}

// background compares the background of a row with the trial in which it was sent.
func (c *check) background() {
	b := c.row.RPCLatency.Background
	if b == nil {
		return
	}
	const in = "rpcLatency.background."
	sent := c.role("")
	if len(sent) != 1 {
		c.complain(in+"loadPPM", len(sent), false, "one trial of the background")
		return
	}
	r := sent[0]
	c.is(in+"loadPPM", r.LoadPPM)
	c.is(in+"sent", r.Sent)
	c.is(in+"expected", r.Expected)
	c.is(in+"lost", r.Lost)
	c.is(in+"lossPPM", sharePPM(r.Lost, r.Expected))
	c.is(in+"offeredFramesPerSecond", rate(r.Sent, r.SendingNs, second))
	size := int64(0)
	if t := c.test.RPCLatency; t != nil {
		size = int64(t.BackgroundFrameSize)
	}
	c.is(in+"frameSize", size)
}
