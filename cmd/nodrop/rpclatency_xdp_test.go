package main

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestRunRPCLatency measures the sample rpc-latency-linux with fewer requests: each row has both times and the share of the
// router, and rows with background have its loss. With -short it sends messages of one size.
func TestRunRPCLatency(t *testing.T) {
	needsRoot(t)
	t.Parallel() // It compares no rates.
	sizes, count := "[1, 16384]", 8
	if testing.Short() {
		sizes, count = "[16384]", 4
	}
	document := runText(t, changedSample(t, "rpc-latency-linux", "[1, 64, 1024, 16384]", sizes, "requests: 1000", "requests: 200"))
	rows := byMethod(t, document, map[v1alpha1.Method]int{v1alpha1.MethodRPCLatency: count})[v1alpha1.MethodRPCLatency]
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
	recomputes(t, document)
}
