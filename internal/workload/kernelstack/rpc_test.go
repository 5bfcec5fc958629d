package kernelstack

import (
	"context"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/workload"
)

// rpcRequest returns requests between the ports of a bed.
func rpcRequest(bytes int) workload.RPCRequest {
	return workload.RPCRequest{Client: "client", Server: "servers", Bytes: bytes, Requests: 200, WarmUp: 20, MTU: 1500, CongestionControl: "reno"}
}

// TestRequestsOverARouter sends requests that wait in the queue of the device. It sends 50 Mbit/s to the client: 16,384 bytes and headers
// take 2.6 ms more than its burst.
func TestRequestsOverARouter(t *testing.T) {
	r := rpcRequest(16_384)
	requestsOverARouter(t, r, time.Duration(r.Bytes)*8*time.Second/50_000_000/2)
}

// TestShortRequestsOverARouter finds the microsecond or two that the router takes for a byte. Next to other tests it finds theirs: make frames
// runs it.
func TestShortRequestsOverARouter(t *testing.T) {
	r := rpcRequest(1)
	r.Requests = 4000
	requestsOverARouter(t, r, 0)
}

// requestsOverARouter sends requests with two MTUs. The share of the router in their times is more than least.
func requestsOverARouter(t *testing.T, r workload.RPCRequest, least time.Duration) {
	t.Helper()
	b := newBed(t, 16_000_000, true)
	for _, r.MTU = range []int{1500, 9000} {
		found, err := b.RPC(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		through, back := workload.Median(found.RoundTrips), workload.Median(found.BackToBack)
		share := workload.Share(found.RoundTrips, found.BackToBack)
		t.Logf("%d bytes, MTU %d: %v through the router, %v back to back, share %v, %d retransmissions, %+v", r.Bytes, r.MTU, through, back, share, found.Retransmissions, found.Limits)
		if texts := r.Differences(found.Settings); len(texts) > 0 || found.NoReference != "" {
			t.Errorf("%q, %q", texts, found.NoReference)
		}
		if len(found.RoundTrips) != workload.Rounds || len(found.BackToBack) != workload.Rounds || len(found.RoundTrips[0]) != r.Requests/20 || len(found.BackToBack[19]) != r.Requests/20 {
			t.Errorf("%d and %d rounds", len(found.RoundTrips), len(found.BackToBack))
		}
		if share.Value <= least || share.Low > share.Value || share.High < share.Value || through.Value-back.Value != share.Value {
			t.Errorf("share %+v, want more than %s", share, least)
		}
	}
}

func TestRequestsExplainWhatIsMissing(t *testing.T) {
	b := newBed(t, 16_000_000, false)
	for name, tc := range map[string]struct {
		change func(*workload.RPCRequest)
		want   string
	}{
		"a congestion control": {func(r *workload.RPCRequest) { r.CongestionControl = "vegetable" }, "congestionControl is vegetable, and the kernel of the hosts has reno"},
		"an MTU":               {func(r *workload.RPCRequest) { r.MTU = 20_000 }, "interface client has an MTU of 9198 bytes, and the test asks for 20000"},
		"requests":             {func(r *workload.RPCRequest) { r.Requests = 2 }, "give 20 or more"},
		"a port":               {func(r *workload.RPCRequest) { r.Server = "p9" }, "port p9 is not known"},
	} {
		request := rpcRequest(1)
		tc.change(&request)
		if _, err := b.RPC(t.Context(), request); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.RPC(ctx, rpcRequest(1)); err == nil {
		t.Error("cancelled requests succeeded")
	}
}
