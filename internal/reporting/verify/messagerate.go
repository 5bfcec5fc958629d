package verify

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// messageRate compares the counts of a row with the records of its trials and with the sums of subscribers, and repeats the
// search.
func (c *check) messageRate() {
	s := c.row.MessageRate
	if s == nil {
		return
	}
	const in = "messageRate."
	c.messageCounts(in+"passed.", "passed.", s.Passed)
	c.messageCounts(in+"failed.", "failed.", s.Failed)
	c.complain(in+"passed", s.Passed != nil, (s.Passed != nil) == (s.Rate > 0) && (s.Passed == nil || s.Passed.Rate == s.Rate && s.Passed.Lost == 0), "the counts at rate, without loss")
	c.complain(in+"failed", s.Failed != nil, s.FailedRate == 0 || s.Failed != nil && s.Failed.Rate == s.FailedRate && s.Failed.DeviceLost > 0, "the counts at failedRate, at which the device lost messages")
	t := c.test.MessageRate
	if t == nil || c.log.Omitted > 0 {
		for _, name := range []string{"rate", "failedRate", "trials", "unsteady"} {
			c.agrees(in+name, true, "")
		}
		return
	}
	all := 0
	for i := range c.trials {
		if c.trials[i].Role == "messages" {
			all++
		}
	}
	c.is(in+"trials", int64(all))
	found := c.searchedRate("messages", t.MinimumRate, t.MaximumRate, t.Resolution)
	c.is(in+"rate", found.Passed)
	c.is(in+"failedRate", found.Failed)
	c.agrees(in+"unsteady", s.Unsteady == !found.Steady(), "true if the answers differ")
}

// messageCounts verifies the counts of a trial.
func (c *check) messageCounts(in, figures string, m *v1alpha1.MessageCounts) {
	if m == nil {
		return
	}
	for _, name := range []string{"rate", "offeredRate", "sent", "lost", "deviceLost", "duplicates", "reordered", "socketDrops", "interfaceDrops", "p50Ns", "p99Ns", "maxNs", "longestLagNs", "busyPPM"} {
		c.is(in+name, c.figure(figures+name).sum)
	}
	// A row has a number of each subscriber and group, and the record their sums.
	sums := map[string]int64{}
	for _, s := range m.Subscribers {
		for name, n := range map[string]int64{
			"lost": s.Lost, "duplicates": s.Duplicates, "reordered": s.Reordered, "socketDrops": s.SocketDrops,
			"subscriberReceiveBuffer": s.ReceiveBuffer, "subscriberP99Ns": s.P99Ns, "subscriberMaxNs": s.MaxNs,
		} {
			sums[name] += n
		}
	}
	for _, g := range m.Groups {
		sums["groupLost"] += g.Lost
		sums["groupSubscribers"] += int64(g.Subscribers)
	}
	agrees := func(field, sum string) {
		c.agrees(field, sums[sum] == c.figure(figures+sum).sum, fmt.Sprintf("one of several numbers, whose sum is %d", c.figure(figures+sum).sum))
	}
	for i, s := range m.Subscribers {
		at := fmt.Sprintf("%ssubscribers[%d].", in, i)
		c.agrees(at+"received", s.Received+s.Lost == m.Sent, "the messages that were sent less the lost ones")
		for _, name := range []string{"lost", "duplicates", "reordered", "socketDrops"} {
			agrees(at+name, name)
		}
		agrees(at+"receiveBuffer", "subscriberReceiveBuffer")
		agrees(at+"p99Ns", "subscriberP99Ns")
		agrees(at+"maxNs", "subscriberMaxNs")
	}
	for i := range m.Groups {
		at := fmt.Sprintf("%sgroups[%d].", in, i)
		agrees(at+"lost", "groupLost")
		agrees(at+"subscribers", "groupSubscribers")
	}
}
