package main

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// messageRateOf measures the sample message-rate-linux over slower ports of the bridge, with rates of trials that take 1 s, and further
// settings.
func messageRateOf(t *testing.T, minimum, maximum, resolution int64, settings string) v1alpha1.ResultRow {
	t.Helper()
	document := runText(t, changedSample(t, "message-rate-linux", "minimumRate: 5000", fmt.Sprintf("minimumRate: %d\n      trialDuration: 1s%s", minimum, settings),
		"maximumRate: 80000", fmt.Sprintf("maximumRate: %d", maximum), "resolution: 500", fmt.Sprintf("resolution: %d", resolution),
		"rate: 100M", "rate: 10M", "bufferBytes: 64000", "bufferBytes: 32000"))
	row := byMethod(t, document, map[v1alpha1.Method]int{v1alpha1.MethodMessageRate: 1})[v1alpha1.MethodMessageRate][0]
	t.Logf("%s %q: %+v: %s", row.Validity, row.ValidityReasons, row.MessageRate, row.Message)
	recomputes(t, document)
	return row
}

// TestRunMessageRate finds the limit of ports: 10 Mbit/s are 2,306 messages per second. With -short it tries fewer rates.
func TestRunMessageRate(t *testing.T) {
	needsRoot(t)
	minimum, maximum, resolution := int64(500), int64(8000), int64(100)
	if testing.Short() {
		minimum, maximum, resolution = 2000, 3000, 1000
	}
	row := messageRateOf(t, minimum, maximum, resolution, "")
	const limit, burst = 2306, 8000 // Bytes that the queue sends at once, at most.
	most := limit + (32_000+burst)/542 + 1
	s := row.MessageRate
	if s.Passed == nil && devicesample.LimitedByTester(row) {
		t.Skipf("the machine is too busy to send %d messages/s evenly: %q", minimum, row.ValidityReasons)
	}
	if s.Rate > int64(most) || s.Passed == nil || len(s.Passed.Subscribers) != 4 || s.Passed.Lost != 0 {
		t.Errorf("%d messages/s passed a device that sends up to %d: %+v", s.Rate, most, s.Passed)
	}
	if row.Validity == v1alpha1.ValidityVirtual && (s.FailedRate < limit || s.FailedRate-s.Rate > resolution) {
		t.Errorf("%d messages/s passed and %d failed, and the device sends %d", s.Rate, s.FailedRate, limit)
	}
	if f := s.Failed; s.FailedRate > 0 && (f == nil || f.DeviceLost == 0 || len(f.Groups) == 0 || f.SocketDrops > 0) {
		t.Errorf("%+v", f)
	}
}

// TestRunMessageRateOfSmallBuffers has small buffers of sockets, so that the tester is the limit.
func TestRunMessageRateOfSmallBuffers(t *testing.T) {
	longtest.Skip(t, "TestSmallSocketBuffer of the hosts, and TestRunMessageRate")
	needsRoot(t)
	row := messageRateOf(t, 1000, 2000, 1000, "\n      receiveBuffer: 1")
	s := row.MessageRate
	if row.Validity != v1alpha1.ValidityGeneratorBound || s.FailedRate != 0 || s.Failed == nil || s.Failed.SocketDrops == 0 || s.Failed.DeviceLost != 0 {
		t.Fatalf("%s: %+v", row.Validity, s)
	}
	for _, one := range s.Failed.Subscribers {
		if one.SocketDrops > 0 && !strings.Contains(strings.Join(row.ValidityReasons, "; "), "the socket of subscriber "+one.Address+" on port "+one.Port+" dropped ") {
			t.Errorf("%q does not name subscriber %s", row.ValidityReasons, one.Address)
		}
	}
}
