package verify

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// bulk recomputes goodput, shares and processor times of a data set from the record of its connections.
func (c *check) bulk() {
	s := c.row.Bulk
	if s == nil {
		return
	}
	const in = "bulk."
	for _, name := range []string{"sentBytes", "receivedBytes", "retransmissions", "tookNs", "mtu", "timeouts", "lostConnections"} {
		c.is(in+name, c.figure(name).sum)
	}
	for _, name := range []string{"sendBufferBytes", "receiveBufferBytes", "windowLimitedPPM", "busyPPM"} {
		c.ifAny(in+name, c.figure(name).sum)
	}
	received, took := c.figure("receivedBytes"), c.figure("tookNs").sum
	if took > 0 {
		c.is(in+"goodputBitsPerSecond", rate(received.sum*8, took, second))
		for name, printed := range map[string]*int64{"sender": s.SenderCPUPPM, "receiver": s.ReceiverCPUPPM} {
			if used := c.figure(name + "CPUNs").sum; printed != nil {
				c.is(in+name+"CPUPPM", int64(float64(used)/float64(took)*1e6))
			}
		}
	}
	c.is(in+"smallestSharePPM", sharePPM(received.min, received.sum))
	c.is(in+"largestSharePPM", sharePPM(received.max, received.sum))
	for name, connections := range map[string][]int64{"received": s.ReceivedByConnection, "retransmissions": s.RetransmissionsByConnection} {
		sum, total := int64(0), c.value(in+"retransmissions")
		if name == "received" {
			total = c.value(in + "receivedBytes")
		}
		for _, one := range connections {
			sum += one
		}
		holds := sum == total && int64(len(connections)) == received.count
		for i := range connections {
			c.agrees(fmt.Sprintf("%s%sByConnection[%d]", in, name, i), holds, "one of a number of each connection, whose sum is in the row")
		}
	}
	complete := s.SentBytes == s.ReceivedBytes && s.LostConnections == 0
	c.agrees(in+"lostConnections", complete || c.row.Validity == v1alpha1.ValidityInvalid, "0 in a row that is not Invalid, with as many bytes received as sent")
}
