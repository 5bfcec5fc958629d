package verify

import (
	"fmt"
	"math/big"
)

// incast recomputes goodput and completion times of an incast from its record, and compares the servers with
// their sums.
func (c *check) incast() {
	s := c.row.Incast
	if s == nil {
		return
	}
	const in = "incast."
	took, n := c.figure("completionNs").sum, c.figure("iterations").sum
	for _, name := range []string{"iterations", "mtu", "bytes", "retransmissions", "timeouts", "receivedBytes", "receivedPackets", "skewAvgNs", "skewMaxNs"} {
		c.is(in+name, c.figure(name).sum)
	}
	for _, name := range []string{"deviceDrops", "sendBufferBytes", "receiveBufferBytes", "windowLimitedPPM", "busyPPM"} {
		c.ifAny(in+name, c.figure(name).sum)
	}
	c.is(in+"completion.p50Ns", c.figure("completionP50Ns").sum)
	c.is(in+"completion.p99Ns", c.figure("completionP99Ns").sum)
	c.is(in+"completion.maxNs", c.figure("completionNs").max)
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
		holds := sum == c.value(in+name) && len(servers) == int(c.row.Servers)
		for i := range servers {
			c.agrees(fmt.Sprintf("%s%sByServer[%d]", in, name, i), holds, "one of a number of each server, whose sum is "+name)
		}
	}
	c.agrees(in+"collapsedFrom", s.CollapsedFrom == nil || s.Collapsed != nil && *s.Collapsed && *s.CollapsedFrom <= int64(c.row.Servers), "at most the servers of the row, which has collapsed")
	c.agrees(in+"collapsed", s.Collapsed == nil || *s.Collapsed == (s.CollapsedFrom != nil), "true with collapsedFrom, and false without")
}
