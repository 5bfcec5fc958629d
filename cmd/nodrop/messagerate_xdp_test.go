package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestRunMessageRate measures the sample message-rate-linux over slower ports of the bridge: 10 Mbit/s are 2,306 messages per second. With
// small buffers of sockets, the tester is the limit.
func TestRunMessageRate(t *testing.T) {
	needsRoot(t)
	measure := func(changes ...string) v1alpha1.ResultRow {
		changes = append(changes, "rate: 100M", "rate: 10M", "bufferBytes: 64000", "bufferBytes: 32000")
		document := runText(t, changedSample(t, "message-rate-linux", changes...))
		row := byMethod(t, document, map[v1alpha1.Method]int{v1alpha1.MethodMessageRate: 1})[v1alpha1.MethodMessageRate][0]
		t.Logf("%s %q: %+v: %s", row.Validity, row.ValidityReasons, row.MessageRate, row.Message)
		recomputes(t, document)
		return row
	}

	row := measure("minimumRate: 5000", "minimumRate: 500\n      trialDuration: 2s", "maximumRate: 80000", "maximumRate: 8000", "resolution: 500", "resolution: 100")
	const limit, burst = 2306, 8000 // Bytes that the queue sends at once, at most.
	most := limit + (32_000+burst)/542/2 + 1
	s := row.MessageRate
	if s.Rate > int64(most) || s.Passed == nil || len(s.Passed.Subscribers) != 4 || s.Passed.Lost != 0 {
		t.Errorf("%d messages/s passed a device that sends up to %d: %+v", s.Rate, most, s.Passed)
	}
	if row.Validity == v1alpha1.ValidityVirtual && (s.FailedRate < limit || s.FailedRate-s.Rate > 100) {
		t.Errorf("%d messages/s passed and %d failed, and the device sends %d", s.Rate, s.FailedRate, limit)
	}
	if f := s.Failed; s.FailedRate > 0 && (f == nil || f.DeviceLost == 0 || len(f.Groups) == 0 || f.SocketDrops > 0) {
		t.Errorf("%+v", f)
	}

	row = measure("minimumRate: 5000", "minimumRate: 1000\n      trialDuration: 2s\n      receiveBuffer: 1", "maximumRate: 80000", "maximumRate: 2000", "resolution: 500", "resolution: 1000")
	s = row.MessageRate
	if row.Validity != v1alpha1.ValidityGeneratorBound || s.FailedRate != 0 || s.Failed == nil || s.Failed.SocketDrops == 0 || s.Failed.DeviceLost != 0 {
		t.Fatalf("%s: %+v", row.Validity, s)
	}
	for _, one := range s.Failed.Subscribers {
		if one.SocketDrops > 0 && !strings.Contains(strings.Join(row.ValidityReasons, "; "), "the socket of subscriber "+one.Address+" on port "+one.Port+" dropped ") {
			t.Errorf("%q does not name subscriber %s", row.ValidityReasons, one.Address)
		}
	}
}
