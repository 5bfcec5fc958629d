package verify

import (
	"nodrop.dev/nodrop/api/v1alpha1"
)

// connections compares the counts of a row with the record of its trial and with their sums, and repeats the search.
func (c *check) connections() {
	s := c.row.Connections
	if s == nil {
		return
	}
	const in = "connections."
	udp := s.Protocol == v1alpha1.ConnectionsUDP
	if t := c.test.Connections; t != nil {
		c.complain(in+"protocol", s.Protocol, udp == (t.Protocol == v1alpha1.ConnectionsUDP), "the protocol of the test")
	}
	type sum struct {
		name  string
		parts []string
	}
	// Each connection has one end.
	sums := []sum{
		{"attempted", []string{"established", "refused", "timedOut"}},
		{"established", []string{"verified", "reset", "unanswered", "wrong"}},
	}
	if udp { // These have no end.
		for _, name := range []string{"closed", "closeReset", "closeTimedOut", "closeRetransmissions", "closeNs"} {
			c.is(in+name, 0)
		}
	} else {
		sums = append(sums, sum{"verified", []string{"closed", "closeReset", "closeTimedOut"}})
	}
	for _, sum := range sums {
		n := int64(0)
		for _, part := range sum.parts {
			n += c.value(in + part)
		}
		c.is(in+sum.name, n)
	}
	for _, name := range []string{
		"attempted", "established", "verified", "refused", "timedOut", "reset", "unanswered", "wrong", "closed", "closeReset", "closeTimedOut",
		"openRetransmissions", "closeRetransmissions", "openNs", "closeNs",
	} {
		c.is(in+name, c.figure(name).sum)
	}
	for _, name := range []string{"setUpP50Ns", "setUpP99Ns", "setUpMaxNs", "busyPPM"} {
		c.ifAny(in+name, c.figure(name).sum)
	}
	c.ifAny(in+"trials", int64(len(c.role("connections")))+int64(c.log.Omitted))
	if s.Measure == v1alpha1.ConnectionsCapacity {
		c.ifAny(in+"capacity", s.Verified)
		c.agrees(in+"capacityReached", s.Verified < s.Attempted, "false if all connections were verified")
		c.agrees(in+"unsteady", !s.Unsteady || !s.CapacityReached, "false if the capacity was reached")
		c.is(in+"failedRate", 0)
		return
	}
	c.connectionRate(in, s)
}

// connectionRate repeats the search for a rate with the verdicts of the trials.
func (c *check) connectionRate(in string, s *v1alpha1.ConnectionsSummary) {
	c.agrees(in+"capacityReached", !s.CapacityReached, "false for a rate")
	t := c.test.Connections
	if t == nil || c.log.Omitted > 0 {
		for _, name := range []string{"setUpRate", "tearDownRate", "failedRate", "unsteady"} {
			c.agrees(in+name, true, "")
		}
		return
	}
	found := c.searchedRate("connections", t.MinimumRate, t.MaximumRate, t.Resolution)
	c.ifAny(in+"setUpRate", found.Passed)
	c.ifAny(in+"tearDownRate", found.Passed)
	c.ifAny(in+"failedRate", found.Failed)
	c.agrees(in+"unsteady", s.Unsteady == !found.Steady(), "true if the answers differ")
}
