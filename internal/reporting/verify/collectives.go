package verify

import (
	"fmt"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// collectives recomputes times and bandwidths of a collective operation from its record, and the port that it names.
func (c *check) collectives() {
	s := c.row.Collectives
	if s == nil {
		return
	}
	const in = "collectives."
	for _, r := range c.role("collective") {
		c.complain("messageSize", c.row.MessageSize, int64(c.row.MessageSize) == r.Tried, fmt.Sprint(r.Tried))
	}
	completions := c.figure("completionNs")
	c.is(in+"repetitions", completions.count)
	for _, name := range []string{"hosts", "mtu", "wrongResults"} {
		c.is(in+name, c.figure(name).sum)
	}
	for _, name := range []string{"localPPM", "busyPPM"} {
		c.ifAny(in+name, c.figure(name).sum)
	}
	c.is(in+"retransmissions", c.figure("linkRetransmissions").sum)
	c.is(in+"completion.p50Ns", c.figure("completionP50Ns").sum)
	c.is(in+"completion.p99Ns", c.figure("completionP99Ns").sum)
	c.is(in+"completion.maxNs", completions.max)
	if completions.count > 0 && completions.sum > 0 {
		c.is(in+"completion.avgNs", completions.sum/completions.count)
		bits := func(numerator, denominator int64) int64 {
			took := new(big.Int).Mul(big.NewInt(completions.sum), big.NewInt(denominator))
			all := new(big.Int).Mul(big.NewInt(8*int64(c.row.MessageSize)*completions.count), big.NewInt(numerator*second))
			return all.Add(all, new(big.Int).Quo(took, big.NewInt(2))).Quo(all, took).Int64()
		}
		others, hosts := int64(s.Hosts-1), int64(s.Hosts)
		c.is(in+"algorithmBitsPerSecond", bits(1, 1))
		if s.Algorithm != "AllToAll" {
			others *= 2
		}
		c.is(in+"busBitsPerSecond", bits(others, hosts))
	}
	steps := c.figure("stepP50Ns")
	sum := int64(0)
	for _, one := range s.StepP50Ns {
		sum += one
	}
	for i := range s.StepP50Ns {
		c.agrees(fmt.Sprintf("%sstepP50Ns[%d]", in, i), sum == steps.sum && int64(len(s.StepP50Ns)) == steps.count, "one of the medians of the steps, whose sum is in the record")
	}
	c.slowestLink(in, s)
}

// slowestLink recomputes the slowest link, and compares the port that a row names with the probes.
func (c *check) slowestLink(in string, s *v1alpha1.CollectivesSummary) {
	l := s.SlowestLink
	c.complain(in+"slowPort", s.SlowPort, s.SlowPort == "" || l != nil && l.Slow && l.Probes != nil, "absent without a slow link and probes")
	if l == nil {
		return
	}
	const factor = 2
	in += "slowestLink."
	c.is(in+"fromHost", c.figure("slowestFromHost").sum)
	c.is(in+"toHost", c.figure("slowestToHost").sum)
	c.is(in+"p50Ns", c.figure("linkP50Ns").max)
	c.is(in+"othersP50Ns", c.figure("othersP50Ns").sum)
	c.answers(in+"slow", l.P50Ns >= factor*l.OthersP50Ns)
	if l.Probes == nil {
		return
	}
	c.is(in+"probes.intoNs", c.figure("probeIntoNs").sum)
	c.is(in+"probes.outOfNs", c.figure("probeOutOfNs").sum)
	c.is(in+"probes.otherPortsNs", c.figure("probeOtherPortsNs").sum)
	want := ""
	switch into, outOf := l.Probes.IntoNs >= factor*l.Probes.OtherPortsNs, l.Probes.OutOfNs >= factor*l.Probes.OtherPortsNs; {
	case into && !outOf:
		want = l.ToPort
	case outOf && !into:
		want = l.FromPort
	}
	c.complain("collectives.slowPort", s.SlowPort, s.SlowPort == want, fmt.Sprintf("%q, by the probes", want))
}
