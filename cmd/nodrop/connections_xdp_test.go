package main

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/verify"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// TestRunConnections measures the sample connections-linux: of a table of 10,000 connections exactly 10,000 are verified. With -short
// the table has 2,000.
func TestRunConnections(t *testing.T) {
	l, table := newLinuxDevice(t, devicesample.Connections), int64(10_000)
	if testing.Short() {
		table = 2000
		rules := l.sample.Configurations.Data
		rules["translated"] = strings.Replace(rules["translated"], "over 10000", "over 2000", 1)
		l.sample.Ask(t, strings.Replace(l.of.Tests, "10300", "2300", 1), l.of.FrameSize)
	}
	d := l.measure()
	consistent(t, &d)
	s := d.Rows[0].Connections
	// Hosts of a busy machine open some connections too late.
	exact := s != nil && s.Capacity != nil && *s.Capacity == table && s.CapacityReached && s.TimedOut == 300 && s.Closed == table
	late := s != nil && s.Capacity != nil && *s.Capacity < table && s.TimedOut >= 300 && devicesample.LimitedByTester(d.Rows[0])
	if !exact && !late || d.Rows[0].Validity == v1alpha1.ValidityInvalid {
		t.Errorf("%s %q: %+v: %s", d.Rows[0].Validity, d.Rows[0].ValidityReasons, s, d.Rows[0].Message)
	}
}

// connectionDevice is the router of the sample connections-linux with other rules.
func connectionDevice(t *testing.T, variants ...v1alpha1.VariantName) *linuxDevice {
	t.Helper()
	l := newLinuxDevice(t, devicesample.Connections)
	devicesample.AddConnectionVariants(l.sample)
	l.sample.Benchmark.Spec.Variants = variants
	return l
}

// TestRunConnectionRates finds the limited rates of a router.
func TestRunConnectionRates(t *testing.T) {
	longtest.Skip(t, "TestRunConnections, and TestConnections of the method with a device that has rates")
	l := connectionDevice(t, "policed")
	l.sample.Ask(t, `
- {name: set-up, connections: {measure: SetUpRate, connections: 300, minimumRate: 200, maximumRate: 1600, resolution: 100, timeout: 2500ms}}
- {name: udp, connections: {protocol: UDP, measure: SetUpRate, connections: 300, minimumRate: 200, maximumRate: 1600, resolution: 100, timeout: 1s}}
- {name: tear-down, connections: {measure: TearDownRate, connections: 300, rate: 450, minimumRate: 200, maximumRate: 800, resolution: 100, timeout: 2500ms}}
`, 64)
	d := l.measure()
	consistent(t, &d)
	setUp, udp := d.Rows[0].Connections, d.Rows[1].Connections
	// Of 300 connections 20 may be more than the rate, and bursts of a busy machine need a part of these.
	for _, row := range d.Rows {
		t.Logf("%s: %+v: %s %q", row.Test, row.Connections, row.Message, row.ValidityReasons)
	}
	if !limited(d.Rows[0]) && (setUp.SetUpRate == nil || *setUp.SetUpRate < 400 || *setUp.SetUpRate > 530 || setUp.FailedRate > 630 || setUp.OpenRetransmissions > 0) {
		t.Errorf("set-up of at most 500 connections/s: %+v: %s", setUp, d.Rows[0].Message)
	}
	// Of 300 connections 20 may be more than the rate. A request that the device drops is not sent again.
	if !limited(d.Rows[1]) && (udp.SetUpRate == nil || *udp.SetUpRate < 400 || *udp.SetUpRate > 550 || udp.FailedRate > 650 || udp.Verified != 300 || udp.Closed != 0) {
		t.Errorf("set-up of at most 500 connections/s of UDP: %+v: %s", udp, d.Rows[1].Message)
	}
	for _, row := range d.Rows[2:] {
		tearDown := row.Connections
		if !limited(row) && (tearDown.TearDownRate == nil || *tearDown.TearDownRate < 200 || *tearDown.TearDownRate > 320 || tearDown.FailedRate > 420 || tearDown.CloseRetransmissions > 0) {
			t.Errorf("tear-down of at most 300 connections/s: %+v: %s", tearDown, row.Message)
		}
	}
}

// TestRunConnectionsOfUDP has a router with place for 500 entries of UDP, and one that forgets them. The report recomputes.
func TestRunConnectionsOfUDP(t *testing.T) {
	longtest.Skip(t, "TestConnectionsOfUDP and TestConnectionsOfUDPFindFaults of the hosts, with real routers")
	l := connectionDevice(t, "small")
	var d report.Document
	for _, tc := range []struct {
		entries, settings, names string
		holds                    func(s *v1alpha1.ConnectionsSummary) bool
	}{
		{"5", "rate: 800, waitTime: 6s", "50 of 550 connections were not established in time", func(s *v1alpha1.ConnectionsSummary) bool {
			return *s.Capacity == 500 && s.CapacityReached && s.TimedOut == 50 && s.Verified == 500
		}},
		// Entries are older than 1 s when they are verified. The device would answer further requests, by new entries.
		{"1", "rate: 400, waitTime: 1s", "did not arrive: the device has no entry for it", func(s *v1alpha1.ConnectionsSummary) bool {
			return *s.Capacity == 0 && s.Established >= 500 && s.Unanswered == s.Established
		}},
	} {
		l.Run("sysctl", "-qw", "net.netfilter.nf_conntrack_udp_timeout="+tc.entries, "net.netfilter.nf_conntrack_udp_timeout_stream="+tc.entries)
		l.sample.Ask(t, "- {name: udp, connections: {protocol: UDP, measure: Capacity, connections: 550, timeout: 1s, "+tc.settings+"}}\n", 64)
		d = l.measure()
		consistent(t, &d)
		row := d.Rows[0]
		if s := row.Connections; s == nil || s.Capacity == nil || !tc.holds(s) || !strings.Contains(row.Message, tc.names) || row.Validity == v1alpha1.ValidityInvalid {
			t.Errorf("entries of UDP for %s s: %s %q: %+v: %s", tc.entries, row.Validity, row.ValidityReasons, s, row.Message)
		}
	}
	for name, change := range map[string]func(s *v1alpha1.ConnectionsSummary){
		"closed":   func(s *v1alpha1.ConnectionsSummary) { s.Closed = 1 },
		"protocol": func(s *v1alpha1.ConnectionsSummary) { s.Protocol = "" },
	} {
		s := d.Rows[0].Connections
		before := *s
		change(s)
		if found := verify.Document(&d); !slices.ContainsFunc(found.Mismatches, func(m verify.Mismatch) bool { return m.Field == "connections."+name }) {
			t.Errorf("a changed %s: %+v", name, found)
		}
		*s = before
	}
}

// TestRunConnectionFaults expects rows that name the faults of a router.
func TestRunConnectionFaults(t *testing.T) {
	longtest.Skip(t, "TestConnectionsFindFaults of the hosts, with real routers")
	l := connectionDevice(t, "lossy", "refusing", "misrouting")
	l.sample.Ask(t, "- {name: capacity, connections: {measure: Capacity, connections: 400, timeout: 2500ms, rate: 1000}}\n", 64)
	d := l.measure()
	consistent(t, &d)
	for _, row := range d.Rows {
		s := row.Connections
		holds, names := false, ""
		switch row.Variant {
		case "lossy":
			holds, names = s.OpenRetransmissions >= 40, "segments were sent again while connections were opened"
		case "refusing":
			holds, names = s.Refused == 40 && s.Verified == 360 && s.Unsteady, "40 of 400 connections were refused"
		case "misrouting":
			holds, names = s.Wrong == 100 && s.Verified == 300 && s.Established == 400 && s.Unsteady, "it came from server 198.18.2.253"
		}
		if !holds || !strings.Contains(row.Message, names) {
			t.Errorf("%s: %+v: %s", row.Variant, s, row.Message)
		}
	}
}

// limited reports whether the hosts were too slow for a rate. On a busy machine a search ends there.
func limited(row v1alpha1.ResultRow) bool {
	return strings.Contains(strings.Join(row.ValidityReasons, "; "), "were asked for")
}

// consistent expects that the rows of a result follow from their trials.
func consistent(t *testing.T, d *report.Document) {
	t.Helper()
	found := verify.Document(d)
	if !found.Holds() || len(found.Unchecked) > 0 || len(found.WithoutTrials) > 0 || found.Recomputed == 0 {
		t.Errorf("%+v", found)
	}
}
