package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

const header = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us"

// small is a bed of four simulated ports, two frame sizes and both tests.
func small(model string) Config {
	var cfg Config
	cfg.Model = model
	cfg.Bed.Name = "bed"
	cfg.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	cfg.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 4, Speed: "10G"}}}
	cfg.Profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{64, 128},
		Pattern:    v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
		Packet:     v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
	}
	cfg.Benchmark.Name, cfg.Benchmark.UID = "small", "1"
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"10%", "throughput"}}},
	}
	cfg.Benchmark.Spec.RestTime = &metav1.Duration{Duration: 5 * time.Second}
	return cfg
}

// complete fills in the API's defaults.
func complete(cfg Config) Config {
	if err := manifest.Default(&cfg.Benchmark, &cfg.Profile, &cfg.Bed); err != nil {
		panic(err)
	}
	return cfg
}

const good = header + "\n64,40,1,2,3,0.1,0.2\n128,80,1,2,3,0.1,0.2\n"

// failing is a generator that fails at its nth trial.
type failing struct {
	*sim.Engine
	trial, n int
	err      error
	at       func()
}

func (f *failing) Start(ctx context.Context, trial traffic.Trial) error {
	if trial.Duration > 0 {
		f.trial++
	}
	if f.trial >= f.n && trial.Duration > 0 {
		if f.at != nil {
			f.at()
		}
		if f.err != nil {
			return f.err
		}
	}
	return f.Engine.Start(ctx, trial)
}

func engine(t *testing.T, cfg Config, opts ...sim.Option) *sim.Engine {
	t.Helper()
	e, err := NewSim(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRunMeasuresAllRows(t *testing.T) {
	state := runSim(t, small(good))
	if state.Outcome != v1alpha1.PhaseMeasured || state.Reason != v1alpha1.ReasonAllMeasured || state.Message != "all 6 rows were measured" {
		t.Fatalf("%s %s: %s", state.Outcome, state.Reason, state.Message)
	}
	var got []string
	for _, r := range state.Rows {
		got = append(got, fmt.Sprintf("%s %d %s %d", r.Test, r.FrameSize, r.Load, r.Frames.LineRatePPM))
	}
	want := []string{
		"throughput 64  400000", "throughput 128  800000",
		"latency 64 10% 100000", "latency 64 throughput 400000", "latency 128 10% 100000", "latency 128 throughput 800000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p := state.Progress
	if p.RowsDone != 6 || p.RowsTotal != 6 || p.SecondsLeft != 0 || p.Trial != "" || p.Summary != "6/6 rows, 100%" || p.TrialsDone != p.TrialsEstimated {
		t.Errorf("progress %+v", p)
	}
	e := state.Environment
	if e == nil || e.Engine != "sim" || len(e.Ports) != 4 || e.Ports[0].MAC == "" || e.Ports[0].Speed != "10G" || e.NoDropVersion == "" || e.LatencyType == "" || len(e.Hosts) != 1 {
		t.Errorf("environment %+v", e)
	}
}

func TestProgressGoesOneWay(t *testing.T) {
	cfg := small(good)
	var states []State
	runSim(t, cfg, WithObserver(func(s State) { states = append(states, s) }))
	var before State
	trials := map[string]bool{}
	for _, s := range states {
		p, b := s.Progress, before.Progress
		if p.RowsDone < b.RowsDone || p.TrialsDone < b.TrialsDone || len(s.Rows) < len(before.Rows) {
			t.Errorf("%+v comes after %+v", p, b)
		}
		if b.RowsTotal > 0 && p.SecondsLeft > b.SecondsLeft {
			t.Errorf("%d seconds left come after %d", p.SecondsLeft, b.SecondsLeft)
		}
		if p.TrialsEstimated < p.TrialsDone {
			t.Errorf("%d trials done of %d", p.TrialsDone, p.TrialsEstimated)
		}
		if s.Done != (len(s.Rows) == 6 && s.Outcome != "") {
			t.Errorf("done %v with %d rows and outcome %q", s.Done, len(s.Rows), s.Outcome)
		}
		trials[p.Trial] = true
		before = s
	}
	for _, want := range []string{"throughput 64 B: 100% for 10s", "throughput 64 B: 50% for 10s (100% did not pass)", "latency 128 B: 10% for 1m0s"} {
		if !trials[want] {
			t.Errorf("no trial %q was shown", want)
		}
	}
	if first := states[1].Progress; first.Summary == "" || !strings.HasPrefix(first.Summary, "0/6 rows, 0%, ") || !strings.HasSuffix(first.Summary, " left") {
		t.Errorf("first summary %q", first.Summary)
	}
}

// A run goes on where an earlier one ended, whether its rows come from the
// checkpoint or is given by the operator, and measures nothing twice.
func TestRunResumes(t *testing.T) {
	whole := runSim(t, small(good))
	for stopAt := 1; stopAt < int(whole.Progress.TrialsDone); stopAt += 3 {
		dir := t.TempDir()
		cfg := small(good)
		state := Run(context.Background(), complete(cfg), &failing{Engine: engine(t, cfg), n: stopAt, err: traffic.ErrLost}, WithCheckpoint(dir))
		if state.Outcome != v1alpha1.PhaseError || state.Reason != v1alpha1.ReasonAgentLost {
			t.Fatalf("stopped at %d: %s %s", stopAt, state.Outcome, state.Message)
		}
		for name, again := range map[string]State{
			"checkpoint": runSim(t, cfg, WithCheckpoint(dir)),
			"given":      runSim(t, cfg, WithRows(state.Rows)),
		} {
			var fresh int32
			for i, row := range again.Rows {
				if i < len(state.Rows) {
					if diff := cmp.Diff(state.Rows[i], row); diff != "" {
						t.Errorf("%s: a finished row changed: %s", name, diff)
					}
					continue
				}
				fresh += row.Trials
			}
			if again.Outcome != v1alpha1.PhaseMeasured || len(again.Rows) != 6 || again.Progress.TrialsDone != fresh {
				t.Errorf("%s after %d trials: %s with %d rows, %d trials for %d", name, stopAt, again.Outcome, len(again.Rows), again.Progress.TrialsDone, fresh)
			}
		}
	}
}

func TestCheckpointOfAnotherRunIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	first := small(good)
	runSim(t, first, WithCheckpoint(dir))
	other := small(good)
	other.Benchmark.UID = "2"
	if state := runSim(t, other, WithCheckpoint(dir)); state.Progress.TrialsDone == 0 {
		t.Error("rows of another benchmark were taken")
	}
	if err := os.WriteFile(filepath.Join(dir, checkpointName), []byte(`{"key": "br`), 0o600); err != nil {
		t.Fatal(err)
	}
	if state := runSim(t, first, WithCheckpoint(dir)); state.Outcome != v1alpha1.PhaseMeasured || state.Progress.TrialsDone == 0 {
		t.Errorf("a broken checkpoint: %s %s", state.Outcome, state.Message)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
	state := Run(context.Background(), complete(first), engine(t, first), WithCheckpoint(filepath.Join(dir, "missing")))
	if state.Outcome != v1alpha1.PhaseError || !strings.Contains(state.Message, "writing the checkpoint") {
		t.Errorf("without its directory: %s %s", state.Outcome, state.Message)
	}
}

// The log has every row once: not those that were given, and first those of the
// checkpoint.
func TestLogOfARun(t *testing.T) {
	dir := t.TempDir()
	cfg := small(good)
	var first, second, third []v1alpha1.ResultRow
	into := func(log *[]v1alpha1.ResultRow) Option {
		return WithLog(func(row v1alpha1.ResultRow) { *log = append(*log, row) })
	}
	whole := runSim(t, cfg, WithCheckpoint(dir), into(&first))
	if diff := cmp.Diff(whole.Rows, first); diff != "" {
		t.Errorf("of a run from the beginning: %s", diff)
	}
	runSim(t, cfg, WithCheckpoint(dir), WithRows(whole.Rows[:2]), into(&second))
	if diff := cmp.Diff(whole.Rows[2:], second); diff != "" {
		t.Errorf("of a run that was given two rows: %s", diff)
	}

	// A runner that was killed while it wrote a row leaves a line that is not whole.
	path := filepath.Join(dir, checkpointName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	runSim(t, cfg, WithCheckpoint(dir))
	again := runSim(t, cfg, WithCheckpoint(dir), into(&third))
	if diff := cmp.Diff(untimed(whole.Rows), untimed(third)); diff != "" || again.Progress.TrialsDone != 0 {
		t.Errorf("of a run after a torn line: %s, %d trials", diff, again.Progress.TrialsDone)
	}
}

func TestHowARunEndsWithoutAResult(t *testing.T) {
	tests := map[string]struct {
		cause   error
		fail    error
		outcome v1alpha1.BenchmarkPhase
		reason  string
		message string
	}{
		"aborted":      {cause: ErrAborted, outcome: v1alpha1.PhaseAborted, reason: v1alpha1.ReasonAborted, message: "the benchmark was aborted (1 finished row is kept)"},
		"over time":    {cause: context.DeadlineExceeded, outcome: v1alpha1.PhaseInvalid, reason: v1alpha1.ReasonDeadlineExceeded, message: "time for the benchmark was over"},
		"terminated":   {cause: errors.New("terminated"), outcome: v1alpha1.PhaseError, reason: v1alpha1.ReasonRunnerFailed, message: "the run was stopped: terminated"},
		"agent lost":   {fail: traffic.ErrLost, outcome: v1alpha1.PhaseError, reason: v1alpha1.ReasonAgentLost, message: "the agent is lost"},
		"agent broken": {fail: errors.New("no such device"), outcome: v1alpha1.PhaseError, reason: v1alpha1.ReasonRunnerFailed, message: "running throughput 128 B: the generator failed 3 times: starting to send: no such device (1 finished row is kept)"},
	}
	rowTrials := int(runSim(t, small(good)).Rows[0].Trials)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			cfg := small(good)
			gen := &failing{Engine: engine(t, cfg), n: rowTrials + 3, err: tc.fail, at: func() {
				if tc.cause != nil {
					cancel(tc.cause)
				}
			}}
			state := Run(ctx, complete(cfg), gen)
			if !state.Done || state.Outcome != tc.outcome || state.Reason != tc.reason || !strings.Contains(state.Message, tc.message) {
				t.Errorf("%s %s: %q, want %s %s: %q", state.Outcome, state.Reason, state.Message, tc.outcome, tc.reason, tc.message)
			}
			if len(state.Rows) != 1 || state.Progress.RowsDone != 1 {
				t.Errorf("%d rows are kept, want 1", len(state.Rows))
			}
		})
	}
}

func TestATrialIsRepeatedAfterAnInterruption(t *testing.T) {
	cfg := small(good)
	gen := &failing{Engine: engine(t, cfg), n: 5, err: traffic.ErrInterrupted}
	gen.at = func() { gen.n = gen.trial + 7; gen.err = map[bool]error{true: traffic.ErrInterrupted}[gen.trial < 30] }
	state := Run(context.Background(), complete(cfg), gen)
	want := runSim(t, cfg)
	for i := range state.Rows {
		state.Rows[i].ElapsedMilliseconds = want.Rows[i].ElapsedMilliseconds // repeating takes time
		state.Rows[i].TrialRecords.ElapsedNs = want.Rows[i].TrialRecords.ElapsedNs
	}
	if diff := cmp.Diff(want.Rows, state.Rows); diff != "" || state.Outcome != v1alpha1.PhaseMeasured {
		t.Errorf("%s: %s", state.Message, diff)
	}
}

func TestRunRefusesAPlanThatCannotWork(t *testing.T) {
	cfg := small(good)
	gen := engine(t, cfg)
	cfg.Bed.Spec.Engine.Sim.Ports.Count = 3
	state := Run(context.Background(), complete(cfg), gen)
	if state.Outcome != v1alpha1.PhaseError || !strings.Contains(state.Message, "pairs needs an even number") {
		t.Errorf("%s: %s", state.Outcome, state.Message)
	}
	cfg = small(good)
	cfg.Profile.Spec.FrameSizes = []int32{64, 1518}
	state = Run(context.Background(), complete(cfg), engine(t, cfg))
	if state.Outcome != v1alpha1.PhaseInvalid || state.Reason != v1alpha1.ReasonNotSupported || !strings.Contains(state.Message, "says nothing about 1518") || len(state.Rows) != 1 {
		t.Errorf("%s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	cfg.Bed.Spec.Engine.Kind = v1alpha1.EngineXDP
	if _, err := NewSim(cfg); err == nil {
		t.Error("the engine sim was made for a bed with another engine")
	}
}
