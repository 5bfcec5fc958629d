package verify

import "math/big"

// incast recomputes goodput and averages of an incast from the sums in its record, and compares the servers with
// their sums.
func (c *check) incast() {
	s := c.row.Incast
	if s == nil {
		return
	}
	const in = "incast."
	took, n := c.figure("completionNs").sum, c.figure("iterations").sum
	c.is(in+"iterations", n)
	c.is(in+"retransmissions", c.figure("retransmissions").sum)
	c.is(in+"timeouts", c.figure("timeouts").sum)
	if n > 0 && took > 0 {
		c.is(in+"completion.avgNs", took/n)
		bits := new(big.Int).Mul(big.NewInt(s.Bytes*8), big.NewInt(n))
		bits.Mul(bits, big.NewInt(second)).Add(bits, big.NewInt(took/2)).Quo(bits, big.NewInt(took))
		c.is(in+"goodputBitsPerSecond", bits.Int64())
	}
	for name, servers := range map[string][]int64{"retransmissions": s.RetransmissionsByServer, "timeouts": s.TimeoutsByServer} {
		sum := int64(0)
		for _, one := range servers {
			sum += one
		}
		want := c.value(in + name)
		c.complain(in+name+"ByServer", sum, sum == want && len(servers) == int(c.row.Servers), "the sum of all servers")
	}
	c.agrees(in+"completion.p50Ns", s.Completion.P50Ns <= s.Completion.P99Ns, "at most p99Ns")
	c.agrees(in+"completion.p99Ns", s.Completion.P99Ns <= s.Completion.MaxNs, "at most maxNs")
	c.agrees(in+"completion.maxNs", s.Completion.MaxNs >= s.Completion.AvgNs && s.Completion.MaxNs <= took, "from avgNs to the sum of all")
	c.agrees(in+"receivedBytes", s.ReceivedBytes == 0 || s.ReceivedBytes >= s.Bytes*n, "at least the bytes of all iterations")
	c.agrees(in+"collapsedFrom", s.CollapsedFrom == nil || s.Collapsed != nil && *s.Collapsed && *s.CollapsedFrom <= int64(c.row.Servers), "at most the servers of the row, which has collapsed")
	c.agrees(in+"skewAvgNs", s.SkewAvgNs <= s.SkewMaxNs, "at most skewMaxNs")
	for _, name := range []string{"mtu", "bytes", "deviceDrops", "receivedPackets", "collapsed", "skewMaxNs", "sendBufferBytes", "receiveBufferBytes", "windowLimitedPPM", "busyPPM"} {
		c.agrees(in+name, true, "")
	}
}
