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
	c.stateless()
}

// stateless recomputes the figures of frames next to an incast from the trial in which they were sent.
func (c *check) stateless() {
	s, r := c.row.Incast.Stateless, c.decides
	asked := c.test.Incast != nil && c.test.Incast.Stateless != nil
	c.complain("incast.stateless", s != nil, (s != nil) == asked && (s == nil || r != nil), "present, with the trial that decided the row, if and only if the test asks for stateless frames")
	if s == nil || r == nil || !asked {
		return
	}
	const in = "incast.stateless."
	const frameCheck = 4
	size := int64(c.test.Incast.Stateless.FrameSize)
	frames, tcp := r.Received*size, c.value("incast.receivedBytes")+c.value("incast.receivedPackets")*frameCheck
	load, _, _ := c.row.Load.Amount()
	c.is(in+"loadPPM", load)
	c.is(in+"loadPPM", r.LoadPPM)
	for name, want := range map[string]int64{
		"frameSize": size, "sent": r.Sent, "received": r.Received, "lost": r.Lost, "lossPPM": sharePPM(r.Lost, r.Sent),
		"offeredFramesPerSecond": rate(r.Sent, r.SendingNs, second), "bitsPerSecond": rate(8*frames, r.SendingNs, second), "tcpBitsPerSecond": rate(8*tcp, r.SendingNs, second),
		"sharePPM": sharePPM(frames, frames+tcp), "tcpSegmentsLost": c.figure("tcpSegmentsLost").sum,
	} {
		c.is(in+name, want)
	}
	c.agrees(in+"latency.timedFrames", c.value(in+"latency.timedFrames") <= r.Received, "at most the received frames")
	if l := r.Latency; l != nil {
		c.latency(in+"latency.", l)
		c.ifAny(in+"latency.timedFrames", l.Count)
	}
	c.complain(in+"latency", s.Latency != nil, (s.Latency != nil) == (r.Latency != nil), "present if and only if the trial timed frames")
}
