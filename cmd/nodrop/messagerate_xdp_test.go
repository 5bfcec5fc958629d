package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/verify"
)

// TestRunMessageRate measures the sample message-rate-linux over slower ports of the bridge: 10 Mbit/s are 2,306 messages per second. With
// small buffers of sockets, the tester is the limit.
func TestRunMessageRate(t *testing.T) {
	needsRoot(t)
	text, err := os.ReadFile(filepath.Join(samplesDir, "message-rate-linux", "benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	measure := func(changes ...string) v1alpha1.ResultRow {
		file := filepath.Join(t.TempDir(), "benchmark.yaml")
		changes = append(changes, "rate: 100M", "rate: 10M", "bufferBytes: 64000", "bufferBytes: 32000")
		if err := os.WriteFile(file, []byte(strings.NewReplacer(changes...).Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, "run", "-f", file, "-o", "json")
		p.exit() // A busy machine measures without a conclusion.
		var document report.Document
		if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
			t.Fatalf("%v\n%s\n%s", err, &p.stdout, &p.stderr)
		}
		row := byMethod(t, &document, map[v1alpha1.Method]int{v1alpha1.MethodMessageRate: 1})[v1alpha1.MethodMessageRate][0]
		t.Logf("%s %q: %+v: %s", row.Validity, row.ValidityReasons, row.MessageRate, row.Message)
		if v := verify.Document(&document); len(v.Mismatches) > 0 {
			t.Errorf("figures that do not follow from the records: %+v", v.Mismatches)
		}
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
