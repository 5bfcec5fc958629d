package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

const header = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us"

func testPlan(t *testing.T) plan.Plan {
	t.Helper()
	var b v1alpha1.Benchmark
	b.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.0001%", MinLoad: "0.1%"}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%", "throughput"}}},
	}
	b.Spec.RestTime = &metav1.Duration{Duration: 5 * time.Second}
	var p v1alpha1.TrafficProfile
	p.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	var bed v1alpha1.TestBed
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 4, Speed: "10G"}}}
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	made, err := build(&b, &p, &bed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func simulate(t *testing.T, model string, p plan.Plan, opts ...sim.Option) *sim.Engine {
	t.Helper()
	var ports []sim.Port
	for _, port := range p.Ports {
		ports = append(ports, sim.Port{Name: port.Name, BitsPerSecond: port.BitsPerSecond})
	}
	e, err := sim.New(model, ports, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// open makes a tester on a generator, with resolved neighbors.
func open(t *testing.T, gen traffic.Generator, p plan.Plan, observe func(trials.Event)) *trials.Tester {
	t.Helper()
	info, err := gen.Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	hops, err := trials.Resolve(context.Background(), gen, p, info, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return trials.NewTester(gen, p, hops, observe)
}

func mustRun(t *testing.T, tester *trials.Tester, step plan.Step) trials.Outcome {
	t.Helper()
	out, err := Run(context.Background(), tester, step)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestThroughputThenLatencyAtIt(t *testing.T) {
	p := testPlan(t)
	gen := simulate(t, header+"\n64,33.3333,1,2,3\n", p)
	tester := open(t, gen, p, nil)
	out := mustRun(t, tester, p.Steps[0])
	if out.LoadPPM != 333_333 || out.Trial.Lost != 0 || out.Trial.Duration != time.Minute || out.Limit != nil || out.Bracket.FailedPPM != 333_334 {
		t.Errorf("found %+v", out)
	}
	// Every trial has 5 s to rest but for the first, and at most 2 s to settle.
	rest := time.Duration(out.Trials-1) * 5 * time.Second
	sending := time.Duration(out.Search.TrialMilliseconds) * time.Millisecond
	if d := out.Elapsed - rest - sending; d < 0 || d > time.Duration(out.Trials)*2*time.Second {
		t.Errorf("took %s: %d trials sent for %s", out.Elapsed, out.Trials, sending)
	}
	tester.Results.Found[trials.Found{Test: "throughput", Size: plan.Bytes(64)}] = out.LoadPPM
	for step, ppm := range map[int]int64{1: 500_000, 2: 333_333} {
		out := mustRun(t, tester, p.Steps[step])
		if out.LoadPPM != ppm || out.Trials != 1 {
			t.Errorf("%s: %+v", p.Steps[step].Name(), out)
		}
		if lost := out.Trial.Lost > 0; lost != (ppm == 500_000) || lost != strings.Contains(out.Message, "were lost at this load") {
			t.Errorf("%s: lost %d, message %q", p.Steps[step].Name(), out.Trial.Lost, out.Message)
		}
	}
}

func TestLatencyAtAThroughputOfZero(t *testing.T) {
	p := testPlan(t)
	tester := open(t, simulate(t, header+"\n64,50,1,2,3\n", p), p, nil)
	if _, err := Run(context.Background(), tester, p.Steps[2]); err == nil || !strings.Contains(err.Error(), "has no result for 64 bytes") {
		t.Errorf("error %v, want that the throughput is not known", err)
	}
	tester.Results.Found[trials.Found{Test: "throughput", Size: plan.Bytes(64)}] = 0
	out := mustRun(t, tester, p.Steps[2])
	if out.Trial != nil || out.Trials != 0 || !strings.Contains(out.Message, "found a throughput of 0 at 64 bytes") {
		t.Errorf("%+v", out)
	}
}

func TestADeviceThatForwardsNothingIsExplained(t *testing.T) {
	p := testPlan(t)
	dead := header + "\n64,0,1,2,3\n"
	out := mustRun(t, open(t, simulate(t, dead, p, sim.WithMuteNeighbours()), p, nil), p.Steps[0])
	want := "no test frame came back on p1, p2, p3 and 1 more ports in 10s; ARP for 198.18.0.1 was not answered on p1; ARP for 198.18.128.1 was not answered on p2; 2 more neighbors did not answer"
	if out.LoadPPM != 0 || out.Trials != 2 || out.Message != want {
		t.Errorf("%d ppm after %d trials: %q, want %q", out.LoadPPM, out.Trials, out.Message, want)
	}
	out = mustRun(t, open(t, simulate(t, dead, p), p, nil), p.Steps[0])
	if !strings.Contains(out.Message, "every neighbor answered") {
		t.Errorf("message %q", out.Message)
	}
	tagged := p
	tagged.Ports = slices.Clone(p.Ports)
	for i := range tagged.Ports {
		tagged.Ports[i].VLANs = frame.VLANs{{ID: uint16(100 + i)}}
	}
	for _, c := range []struct {
		device  []sim.Option
		message string
	}{
		{[]sim.Option{sim.WithMuteNeighbours()}, "ARP for 198.18.0.1 in VLAN 100 was not answered on p1; ARP for 198.18.128.1 in VLAN 101 was not answered on p2"},
		{nil, "every neighbor answered: check the device's routes and filters, that its port at p1 is in VLAN 100, and that its MTU takes the frame"},
	} {
		if out := mustRun(t, open(t, simulate(t, dead, tagged, c.device...), tagged, nil), p.Steps[0]); !strings.Contains(out.Message, c.message) {
			t.Errorf("message %q, want %q", out.Message, c.message)
		}
	}
	out = mustRun(t, open(t, simulate(t, dead, p), p, nil), p.Steps[1])
	if !strings.Contains(out.Message, "no test frame came back") || out.Trial.Received != 0 {
		t.Errorf("latency: %+v", out)
	}
}

func TestLossAtTheLowestLoad(t *testing.T) {
	p := testPlan(t)
	out := mustRun(t, open(t, simulate(t, header+",loss_ppm\n64,100,1,2,3,1000\n", p), p, nil), p.Steps[0])
	if row := rowOf(p, out); row.Latency != nil || row.Frames.Lost == 0 {
		t.Errorf("the row of a throughput of 0 has the latency %+v of a load that did not pass, and %d lost frames", row.Latency, row.Frames.Lost)
	}
	if out.LoadPPM != 0 || out.Trial.LoadPPM != 1000 || !strings.Contains(out.Message, "were lost at the lowest load, 0.1%") {
		t.Errorf("%+v", out)
	}
}

func TestTheTesterIsTheLimit(t *testing.T) {
	p := testPlan(t)
	model := header + ",generator_limit_percent\n64,100,1,2,3,40\n"
	out := mustRun(t, open(t, simulate(t, model, p), p, nil), p.Steps[0])
	if out.LoadPPM != 400_000 || out.Limit == nil || out.Limit.LoadPPM != 400_001 || !out.Limit.Unsent() {
		t.Errorf("%+v", out)
	}
	out = mustRun(t, open(t, simulate(t, model, p), p, nil), p.Steps[1])
	if out.LoadPPM != 500_000 || out.Limit == nil || out.Trial.Sent >= out.Trial.Intended {
		t.Errorf("latency: %+v", out)
	}
}

// busy is a tester that falls short in every nth trial.
type busy struct {
	traffic.Generator
	trials, every int
	missing       uint64
}

func (b *busy) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := b.Generator.Read(ctx)
	if tx := m.Tx[0]; tx.Sent > 1 { // not while learning
		if b.trials++; b.trials%b.every == 0 {
			key := traffic.RxKey{Stream: 0, Port: "p2"}
			rx := m.Rx[key]
			missing := min(b.missing, tx.Sent-1)
			tx.Sent -= missing
			rx.Received = min(rx.Received, tx.Sent)
			m.Tx[0], m.Rx[key] = tx, rx
		}
	}
	return m, err
}

func TestABusyMomentOfTheTesterIsNotAResult(t *testing.T) {
	p := testPlan(t)
	model := header + "\n64,33.3333,1,2,3\n"
	out := mustRun(t, open(t, &busy{Generator: simulate(t, model, p), every: 3, missing: 1}, p, nil), p.Steps[0])
	if out.LoadPPM != 333_333 || out.Limit != nil {
		t.Errorf("found %d ppm with the limit %+v, want the device's 333333", out.LoadPPM, out.Limit)
	}
	// A tester that falls far short is not asked again, and one that always falls
	// short is its own limit.
	for every, missing := range map[int]uint64{1: 1, 2: 1 << 60} {
		out := mustRun(t, open(t, &busy{Generator: simulate(t, model, p), every: every, missing: missing}, p, nil), p.Steps[0])
		if out.LoadPPM == 333_333 || out.Limit == nil {
			t.Errorf("every %d, %d missing: found %d ppm and no limit", every, missing, out.LoadPPM)
		}
	}
}

// flaky is a generator whose calls fail as fail decides.
type flaky struct {
	traffic.Generator
	fail  func(call string) error
	calls []string
}

func (f *flaky) step(call string) error {
	f.calls = append(f.calls, call)
	return f.fail(call)
}

func (f *flaky) Configure(ctx context.Context, s []traffic.Stream) error {
	if err := f.step("configure"); err != nil {
		return err
	}
	return f.Generator.Configure(ctx, s)
}

func (f *flaky) Start(ctx context.Context, trial traffic.Trial) error {
	if trial.Duration == 0 {
		return f.Generator.Start(ctx, trial) // learning
	}
	if err := f.step("start"); err != nil {
		return err
	}
	return f.Generator.Start(ctx, trial)
}

func (f *flaky) Stop(ctx context.Context) error {
	f.calls = append(f.calls, "stop")
	if ctx.Err() != nil {
		return errors.New("stopped with a context that has ended")
	}
	return f.Generator.Stop(ctx)
}

// times makes the first n calls of one kind fail.
func times(n int, call string, err error) func(string) error {
	return func(c string) error {
		if c == call && n > 0 {
			n--
			return err
		}
		return nil
	}
}

func TestAFailedTrialIsRepeated(t *testing.T) {
	p := testPlan(t)
	gone := errors.New("connection lost")
	tests := map[string]struct {
		fail  func(string) error
		calls string
		err   string
	}{
		"once":           {times(1, "start", gone), "configure start stop configure start", ""},
		"twice":          {times(2, "start", gone), "configure start stop configure start stop configure start", ""},
		"for ever":       {times(9, "start", gone), "configure start stop configure start stop configure start stop", "the generator failed 3 times: starting to send: connection lost"},
		"lost":           {times(9, "start", fmt.Errorf("agent 0: %w", traffic.ErrLost)), "configure start stop", "agent 0: the agent is lost"},
		"cannot be done": {times(9, "configure", traffic.ErrUnsupported), "configure stop", "not supported"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			gen := &flaky{Generator: simulate(t, header+"\n64,100,1,2,3\n", p), fail: tc.fail}
			failures := 0
			tester := open(t, gen, p, func(e trials.Event) {
				if e.Failure != nil {
					failures++
				}
			})
			out, err := Run(context.Background(), tester, p.Steps[1])
			if calls := strings.Join(gen.calls, " "); calls != tc.calls {
				t.Errorf("calls %q, want %q", calls, tc.calls)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || out.Trials != 1 || out.Trial.Lost != 0 {
				t.Errorf("%+v, %v", out, err)
			}
			if want := strings.Count(tc.calls, "stop"); failures != want {
				t.Errorf("%d failures were told, want %d", failures, want)
			}
		})
	}
}

func TestCancelStopsTheGenerator(t *testing.T) {
	p := testPlan(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	gen := &flaky{Generator: simulate(t, header+"\n64,100,1,2,3\n", p)}
	gen.fail = func(call string) error {
		if call == "start" {
			cancel(enough)
		}
		return nil
	}
	_, err := Run(ctx, open(t, gen, p, nil), p.Steps[0])
	if !errors.Is(err, enough) {
		t.Errorf("error %v, want the cause", err)
	}
	if calls := strings.Join(gen.calls, " "); calls != "configure start stop" {
		t.Errorf("calls %q, want an end with stop", calls)
	}
}

func TestEventsFollowTheSearch(t *testing.T) {
	p := testPlan(t)
	var last search.Bracket
	begun, ended := 0, 0
	tester := open(t, simulate(t, header+"\n64,25,1,2,3\n", p), p, func(e trials.Event) {
		if e.Finished != nil {
			ended++
			return
		}
		begun++
		if e.Step.Size != plan.Bytes(64) || e.LoadPPM == 0 || e.Duration == 0 {
			t.Errorf("event %+v", e)
		}
		last = e.Bracket
	})
	out := mustRun(t, tester, p.Steps[0])
	if begun != out.Trials || ended != out.Trials {
		t.Errorf("%d begun and %d ended of %d trials", begun, ended, out.Trials)
	}
	if last.PassedPPM != 250_000 || last.FailedPPM != 250_001 {
		t.Errorf("the confirmation was told as %+v", last)
	}
}

func TestResolveNeedsEveryPort(t *testing.T) {
	p := testPlan(t)
	gen := simulate(t, header+"\n64,25,1,2,3\n", p)
	info, _ := gen.Info(context.Background())
	info.Ports = info.Ports[:3]
	if _, err := trials.Resolve(context.Background(), gen, p, info, time.Second); !errors.Is(err, traffic.ErrUnsupported) || !strings.Contains(err.Error(), "p4") {
		t.Errorf("error %v, want that p4 is missing", err)
	}
}

// build is plan.Build for objects that were made in Go and lack the API's defaults.
func build(b *v1alpha1.Benchmark, p *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) (plan.Plan, error) {
	if err := manifest.Default(b, p, bed); err != nil {
		return plan.Plan{}, err
	}
	return plan.Build(b, p, bed)
}

// completed are tests with the API's defaults.
func completed(t *testing.T, tests ...v1alpha1.Test) []v1alpha1.Test {
	t.Helper()
	var b v1alpha1.Benchmark
	b.Spec.Tests = tests
	if err := manifest.Default(&b); err != nil {
		t.Fatal(err)
	}
	return b.Spec.Tests
}
