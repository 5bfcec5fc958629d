package repeated_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/repeated"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// noisyModel is a device whose capacity differs by up to 2 % of line rate from trial to trial,
// evenly to both sides of 50 %.
const noisyModel = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,capacity_noise_ppm\n" +
	"64,50,8,11,40,20000\n128,60,8,11,40,20000\n"

// noisy is a benchmark on the noisy device.
func noisy(tests ...v1alpha1.Test) runner.Config {
	return runner.Config{
		Benchmark: *objects.Benchmark("team", "noisy", objects.BedName("noisy"), objects.ProfileName("pairs"), objects.Tests(tests...)),
		Profile:   *objects.TrafficProfile("team", "pairs", objects.IPv4Pairs(64, 128)),
		Bed:       *objects.TestBed("noisy", objects.Simulated("models", "noisy.csv"), objects.Sim(2, "10G")),
		Model:     noisyModel,
	}
}

// measure runs a benchmark on a modelled device, and returns the rows of the single measurements.
func measure(t *testing.T, cfg runner.Config, options ...sim.Option) []v1alpha1.ResultRow {
	t.Helper()
	if err := manifest.Default(&cfg.Benchmark, &cfg.Profile, &cfg.Bed); err != nil {
		t.Fatal(err)
	}
	engine, err := runner.NewSim(cfg, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	state := runner.Run(context.Background(), cfg, engine)
	if state.Outcome != v1alpha1.PhaseMeasured {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	return state.Rows
}

func second(n int) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// repeatedTests are a binary search and a search for several loss ratios.
func repeatedTests(repetitions int32) []v1alpha1.Test {
	return []v1alpha1.Test{
		{Name: "binary", Repetitions: repetitions, Throughput: &v1alpha1.ThroughputTest{Resolution: "0.01%", TrialDuration: second(1)}},
		{Name: "mlrsearch", Repetitions: repetitions, Throughput: &v1alpha1.ThroughputTest{
			Search: v1alpha1.SearchMLRsearch, LossRatios: []v1alpha1.LossRatio{"0%", "0.5%"}, Resolution: "0.01%", TrialDuration: second(1)}},
	}
}

// All sizes are measured once before the next repetition begins, a search does not begin where
// another repetition ended, and the load throughput is the median.
func TestRepetitionsAreIndependent(t *testing.T) {
	rows := measure(t, noisy(
		v1alpha1.Test{Name: "informed", Repetitions: 3, Throughput: &v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed, Resolution: "0.01%", TrialDuration: second(1)}},
		v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"throughput"}, TrialDuration: second(1)}}), sim.WithSeed(1))
	var names []string
	loads := map[int32]int64{}
	for _, row := range rows {
		names = append(names, row.Name())
		if row.Repetition == 0 {
			loads[row.FrameSize] = row.Frames.LineRatePPM
		}
		if first := row.FrameSize == 64 && row.Repetition > 0; first && row.Search.Start != "" {
			t.Errorf("%s began at %s", row.Name(), row.Search.Start)
		}
		if second := row.FrameSize == 128 && row.Repetition > 0; second && row.Search.Start != "informed 64 B" {
			t.Errorf("%s began at %q", row.Name(), row.Search.Start)
		}
	}
	want := "informed 64 B, repetition 1; informed 128 B, repetition 1; informed 64 B, repetition 2; informed 128 B, repetition 2; " +
		"informed 64 B, repetition 3; informed 128 B, repetition 3; latency 64 B at throughput; latency 128 B at throughput"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("rows %s", got)
	}
	for _, row := range repeated.Merge(rows) {
		if row.Repeated != nil && loads[row.FrameSize] != row.Frames.LineRatePPM {
			t.Errorf("%s: the load throughput is %d, and the median %d", row.Name(), loads[row.FrameSize], row.Frames.LineRatePPM)
		}
	}
}

// coverage counts the rows of a figure whose interval contains the true value.
type coverage struct{ rows, inside int }

// covers asserts that the intervals with 95 % contain the true value in 93 to 98 % of all rows.
// With few runs the bounds are wider.
func covers(t *testing.T, found map[string]*coverage) {
	t.Helper()
	lowest, highest := 0.93, 0.98
	if testing.Short() {
		lowest, highest = 0.80, 1
	}
	for name, c := range found {
		share := float64(c.inside) / float64(c.rows)
		t.Logf("%s: the interval contains the true value in %d of %d rows (%.1f %%)", name, c.inside, c.rows, 100*share)
		if share < lowest || share > highest {
			t.Errorf("%s: %.1f %% of the intervals contain the true value, want %.0f to %.0f %%", name, 100*share, 100*lowest, 100*highest)
		}
	}
}

// runs is the number of benchmarks that are measured.
func runs() int {
	if testing.Short() {
		return 30
	}
	return 500
}

func (c *coverage) add(f *v1alpha1.FigureInterval, truth float64) {
	c.rows++
	if float64(f.Low) <= truth && truth <= float64(f.High) {
		c.inside++
	}
}

// The true value of a throughput is the median capacity, and of a partial drop rate the load of
// which all but the ratio fits into it.
func TestIntervalsCoverTheCapacity(t *testing.T) {
	t.Parallel()
	found := map[string]*coverage{}
	for seed := range runs() {
		for _, row := range repeated.Merge(measure(t, noisy(repeatedTests(6)...), sim.WithSeed(uint64(seed)+1))) {
			truth := map[int32]float64{64: 500_000, 128: 600_000}[row.FrameSize] / (1 - float64(row.LossRatioPPM)/1e6)
			name := string(row.Method)
			if found[name] == nil {
				found[name] = &coverage{}
			}
			found[name].add(row.Repeated.Figure("LineRate"), truth)
		}
	}
	covers(t, found)
}

// varying is a device whose latency, buffer and route delay differ by up to 20 % from trial to
// trial, evenly to both sides of the model. The sampling interval is short compared with that:
// it widens the interval of a convergence time to both sides.
func varying(repetitions int32) runner.Config {
	cfg := noisy(
		v1alpha1.Test{Name: "latency", Repetitions: repetitions, Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%"}, TrialDuration: second(1)}},
		v1alpha1.Test{Name: "burst", Repetitions: repetitions, BackToBack: &v1alpha1.BackToBackTest{Repetitions: 1, MaxBurstDuration: second(1)}},
		v1alpha1.Test{Name: "convergence", Repetitions: repetitions, Convergence: &v1alpha1.ConvergenceTest{
			Load: "10%", LeadTime: second(1), AnnouncedTime: second(12), WithdrawnTime: second(12), Cycles: 1, SamplingInterval: metav1.Duration{Duration: 20 * time.Millisecond}}},
	)
	cfg.Model = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,buffer_frames\n64,80,8,11,40,100000\n"
	cfg.Profile.Spec.FrameSizes = []int32{64}
	cfg.Profile.Spec.Pattern = v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2"}}}
	cfg.Profile.Spec.Routing = &v1alpha1.ProfileRouting{Routes: []v1alpha1.RouteSet{{Name: "networks", First: "20.0.0.0/24", Count: 1000}}}
	cfg.Bed.Spec.Device.Simulated.Behaviour = &v1alpha1.SimulatedBehaviour{RouteDelay: new(second(8))}
	cfg.Bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
		{Name: "peer", ASN: 100001, Families: []v1alpha1.BGPFamily{v1alpha1.BGPIPv4Unicast}},
	}}}
	return cfg
}

// The true value is that of the device without the variation.
func TestIntervalsCoverWhatVaries(t *testing.T) {
	t.Parallel()
	figures := map[string]string{"latency": "LatencyP99", "burst": "BurstAvg", "convergence": "AnnounceAvg"}
	truth := map[string]float64{}
	for _, row := range repeated.Merge(measure(t, varying(2))) {
		f := row.Repeated.Figure(figures[row.Test])
		if f == nil {
			t.Fatalf("%s has the figures %+v", row.Test, row.Repeated.Figures)
		}
		truth[row.Test] = float64(f.Median)
	}
	found := map[string]*coverage{"latency": {}, "burst": {}, "convergence": {}}
	for seed := range runs() {
		for _, row := range repeated.Merge(measure(t, varying(9), sim.WithSeed(uint64(seed)+1), sim.WithVariation(200_000))) {
			found[row.Test].add(row.Repeated.Figure(figures[row.Test]), truth[row.Test])
		}
	}
	covers(t, found)
}
