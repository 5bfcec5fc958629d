package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/verify"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
)

// TestRunConnections measures the sample connections-linux: of a table of 10,000 connections exactly 10,000 are verified. Limited
// rates are found, and rows name the faults of a device.
func TestRunConnections(t *testing.T) {
	l := newLinuxDevice(t, devicesample.Connections)
	d := l.measure()
	consistent(t, &d)
	s := d.Rows[0].Connections
	if s == nil || s.Capacity == nil || *s.Capacity != 10_000 || !s.CapacityReached || s.TimedOut != 300 || s.Closed != 10_000 || d.Rows[0].Validity == v1alpha1.ValidityInvalid {
		t.Errorf("%s %q: %+v: %s", d.Rows[0].Validity, d.Rows[0].ValidityReasons, s, d.Rows[0].Message)
	}
	devicesample.AddConnectionVariants(l.sample)

	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"policed"}
	l.sample.Ask(t, `
- {name: set-up, connections: {measure: SetUpRate, connections: 400, minimumRate: 200, maximumRate: 1600, resolution: 100, timeout: 3s}}
- {name: tear-down, connections: {measure: TearDownRate, connections: 400, rate: 450, minimumRate: 100, maximumRate: 800, resolution: 100, timeout: 3s}}
`, 64)
	d = l.measure()
	consistent(t, &d)
	setUp, tearDown := d.Rows[0].Connections, d.Rows[1].Connections
	// Of 400 connections 20 may be more than the rate, and bursts of a busy machine need a part of these.
	for _, row := range d.Rows {
		t.Logf("%s: %+v: %s %q", row.Test, row.Connections, row.Message, row.ValidityReasons)
	}
	if !limited(d.Rows[0]) && (setUp.SetUpRate == nil || *setUp.SetUpRate < 400 || *setUp.SetUpRate > 530 || setUp.FailedRate > 630 || setUp.OpenRetransmissions > 0) {
		t.Errorf("set-up of at most 500 connections/s: %+v: %s", setUp, d.Rows[0].Message)
	}
	if !limited(d.Rows[1]) && (tearDown.TearDownRate == nil || *tearDown.TearDownRate < 200 || *tearDown.TearDownRate > 320 || tearDown.FailedRate > 420 || tearDown.CloseRetransmissions > 0) {
		t.Errorf("tear-down of at most 300 connections/s: %+v: %s", tearDown, d.Rows[1].Message)
	}

	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"lossy", "refusing", "misrouting"}
	l.sample.Ask(t, "- {name: capacity, connections: {measure: Capacity, connections: 400, timeout: 2500ms, rate: 1000}}\n", 64)
	d = l.measure()
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
