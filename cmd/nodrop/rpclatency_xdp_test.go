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

// TestRunRPCLatency measures the sample rpc-latency-linux with fewer requests: each row has both times and the share of the
// router, and rows with background have its loss.
func TestRunRPCLatency(t *testing.T) {
	needsRoot(t)
	text, err := os.ReadFile(filepath.Join(samplesDir, "rpc-latency-linux", "benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "benchmark.yaml")
	if err := os.WriteFile(file, []byte(strings.NewReplacer("[1, 64, 1024, 16384]", "[1, 16384]", "requests: 1000", "requests: 200").Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "run", "-f", file, "-o", "json")
	p.exit() // A busy machine measures without a conclusion.
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &p.stdout, &p.stderr)
	}
	rows := byMethod(t, &document, map[v1alpha1.Method]int{v1alpha1.MethodRPCLatency: 8})[v1alpha1.MethodRPCLatency]
	for _, row := range rows {
		s := row.RPCLatency
		if s.BackToBack == nil || s.Device == nil || s.Requests != 200 {
			t.Errorf("%s: %+v", row.Name(), s)
			continue
		}
		t.Logf("%s: %d ns through the router, %d back to back, %+v, %+v, %s %q", row.Name(), s.RoundTrip.P50Ns, s.BackToBack.P50Ns, *s.Device, s.Background, row.Validity, row.ValidityReasons)
		if s.Device.Ns != s.RoundTrip.P50Ns-s.BackToBack.P50Ns || s.Device.LowNs > s.Device.Ns || s.Device.HighNs < s.Device.Ns {
			t.Errorf("%s: share %+v", row.Name(), s.Device)
		}
		if b := s.Background; (b != nil) != (row.Load == "40%") || b != nil && (b.Sent == 0 || b.Expected != b.Sent || b.FrameSize != 1518 || b.Lost > b.Expected) {
			t.Errorf("%s: background %+v", row.Name(), b)
		}
		if want := map[string]int32{"rpc": 1500, "rpc-jumbo": 9000}[row.Test]; s.MTU != want {
			t.Errorf("%s: MTU %d, want %d", row.Name(), s.MTU, want)
		}
	}
	if v := verify.Document(&document); len(v.Mismatches) > 0 {
		t.Errorf("figures that do not follow from the records: %+v", v.Mismatches)
	}
}
