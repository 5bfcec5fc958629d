package method

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/workload"
)

// RPC belongs to tests of another method.
func (f *fakeWorkload) RPC(context.Context, workload.RPCRequest) (workload.RPC, error) {
	return workload.RPC{}, errors.New("the fake has no server")
}

// Collective belongs to tests of another method.
func (f *fakeWorkload) Collective(context.Context, workload.CollectiveRequest) (workload.Collective, error) {
	return workload.Collective{}, errors.New("the fake has no hosts")
}

// fakeRPC answers with the times 1 to n µs more than a base, in rising order. Package kernelstack is tested on real sockets.
type fakeRPC struct {
	fakeWorkload
	change   func(*workload.RPC)
	requests []workload.RPCRequest
}

func (f *fakeRPC) RPC(_ context.Context, r workload.RPCRequest) (workload.RPC, error) {
	f.requests = append(f.requests, r)
	out := workload.RPC{Settings: workload.Settings{CongestionControl: "cubic", MTU: r.MTU}, Retransmissions: 2}
	for n, i := 0, 0; n < workload.Rounds; n++ {
		var through, back []time.Duration
		for range r.Round(n) {
			i++
			through, back = append(through, time.Duration(100_000+i*1000)), append(back, time.Duration(50_000+i*1000))
		}
		out.RoundTrips, out.BackToBack = append(out.RoundTrips, through), append(out.BackToBack, back)
	}
	if f.change != nil {
		f.change(&out)
	}
	return out, nil
}

func rpcTest(background ...v1alpha1.LoadAmount) v1alpha1.Test {
	return v1alpha1.Test{Name: "rpc", RPCLatency: &v1alpha1.RPCLatencyTest{
		MessageSizes: []int32{64, 1}, Requests: 1000, WarmUpRequests: 10, MTU: 1500, Background: background, BackgroundFrameSize: 64,
	}}
}

// workloadRows measures all rows on a modelled device.
func workloadRows(t *testing.T, p plan.Plan, engine workload.Engine) (rows []v1alpha1.ResultRow) {
	t.Helper()
	tester := open(t, simulate(t, ideal, p), p, nil)
	trials.WithWorkload(engine)(tester)
	for _, step := range p.Steps {
		out, err := Run(t.Context(), tester, step)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, rowOf(p, out))
	}
	return rows
}

func TestRPCLatency(t *testing.T) {
	p, err := planOf(t, rpcTest("40%"))
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeRPC{}
	rows := workloadRows(t, p, fake)
	var names []string
	for _, row := range rows {
		names = append(names, row.Name())
		s := row.RPCLatency
		// Rounds of 50 requests have the medians 25, 75, … 975 µs more than the base: the 6th from both ends are 275 and 725.
		want := v1alpha1.RoundTripTimes{AvgNs: 600_500, P50Ns: 600_000, P50LowNs: 375_000, P50HighNs: 825_000, P90Ns: 1_000_000, P99Ns: 1_090_000, P999Ns: 1_099_000, MaxNs: 1_100_000}
		if s.RoundTrip != want || s.BackToBack.P50Ns != 550_000 || *s.Device != (v1alpha1.TimeEstimate{Ns: 50_000, LowNs: 50_000, HighNs: 50_000}) {
			t.Errorf("%s: %+v, %+v", row.Name(), s, s.Device)
		}
		if row.Frames != nil || s.Requests != 1000 || s.Retransmissions != 2 || s.CongestionControl != "cubic" {
			t.Errorf("%s: %+v", row.Name(), s)
		}
	}
	if want := []string{"rpc with messages of 1 B", "rpc at 40% with messages of 1 B", "rpc with messages of 64 B", "rpc at 40% with messages of 64 B"}; !slices.Equal(names, want) {
		t.Errorf("rows %q, want %q", names, want)
	}
	if b := rows[1].RPCLatency.Background; rows[0].RPCLatency.Background != nil || b == nil || b.LoadPPM != 400_000 || b.FrameSize != 64 {
		t.Errorf("background %+v and %+v", rows[0].RPCLatency.Background, b)
	}
	if r := fake.requests[1]; r.Client != p.Ports[0].Name || r.Server != p.Ports[1].Name || r.BackgroundPPM != 400_000 || r.Bytes != 1 {
		t.Errorf("%+v", r)
	}
}

func TestRPCLatencyIsJudged(t *testing.T) {
	test := rpcTest()
	test.RPCLatency.MessageSizes = []int32{1}
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*workload.RPC)
		want   v1alpha1.Validity
		reason string
	}{
		"busy processors": {func(r *workload.RPC) { r.Limits.BusyPPM = 990_000 }, v1alpha1.ValidityGeneratorBound, "busy for 99 %"},
		"another MTU":     {func(r *workload.RPC) { r.Settings.MTU = 1400 }, v1alpha1.ValidityInvalid, "the hosts had 1400"},
		"nothing unusual": {nil, v1alpha1.ValiditySimulated, "model"},
		"no reference":    {func(r *workload.RPC) { r.BackToBack, r.NoReference = nil, "there is no pair" }, v1alpha1.ValiditySimulated, "model"},
	} {
		row := workloadRows(t, p, &fakeRPC{change: tc.change})[0]
		if row.Validity != tc.want || !strings.Contains(strings.Join(row.ValidityReasons, "; "), tc.reason) {
			t.Errorf("%s: %s %q", name, row.Validity, row.ValidityReasons)
		}
		without := name == "no reference"
		if (row.RPCLatency.BackToBack == nil) != without || (row.RPCLatency.Device == nil) != without || strings.Contains(row.Message, "is not known: there is no pair") != without {
			t.Errorf("%s: %+v, %q", name, row.RPCLatency, row.Message)
		}
	}
	tester := open(t, simulate(t, ideal, p), p, nil)
	if _, err := Run(t.Context(), tester, p.Steps[0]); err == nil || !strings.Contains(err.Error(), "run hosts with TCP") {
		t.Errorf("without an engine: %v", err)
	}
}

// The background is sent while requests run on the model, and ends with them.
func TestRPCLatencyOfTheModel(t *testing.T) {
	p, err := planOf(t, rpcTest("40%"))
	if err != nil {
		t.Fatal(err)
	}
	tester := open(t, simulate(t, ideal, p), p, nil)
	trials.WithWorkload(tester.Generator.Generator.(workload.Host).Workload())(tester)
	for _, step := range p.Steps {
		out, err := Run(t.Context(), tester, step)
		if err != nil {
			t.Fatal(err)
		}
		row := rowOf(p, out)
		s := row.RPCLatency
		if s.Device == nil || s.Device.Ns <= 0 || (s.Background != nil) != (step.Load != "") {
			t.Fatalf("%s: %+v", row.Name(), s)
		}
		if b := s.Background; b != nil && (b.Sent == 0 || b.Lost != 0 || b.Expected != b.Sent || b.OfferedFramesPerSecond == 0) {
			t.Errorf("%s: %+v", row.Name(), b)
		}
	}
}

func TestBedsWithoutPlaceForRPCLatency(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.RPCLatencyTest)
		want   string
	}{
		"a client that is no port": {func(r *v1alpha1.RPCLatencyTest) { r.Client = "p99" }, `client: Unsupported value: "p99"`},
		"a server that is no port": {func(r *v1alpha1.RPCLatencyTest) { r.Server = "p99" }, `server: Unsupported value: "p99"`},
		"one port":                 {func(r *v1alpha1.RPCLatencyTest) { r.Client, r.Server = "p2", "p2" }, "client and server need two ports: choose another port than p2"},
		"a large background": {func(r *v1alpha1.RPCLatencyTest) {
			r.Background, r.BackgroundFrameSize = []v1alpha1.LoadAmount{"5%"}, 9300
		}, "backgroundFrameSize: Invalid value: 9300: give a size from 64 to"},
		"a rate": {func(r *v1alpha1.RPCLatencyTest) { r.Background = []v1alpha1.LoadAmount{"5kpps"} }, "give a percentage of line rate above 0% and up to 100%"},
	} {
		test := rpcTest()
		tc.change(test.RPCLatency)
		if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
