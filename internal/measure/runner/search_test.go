package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// searchSample reads the sample of the searches.
func searchSample(t *testing.T) Config {
	t.Helper()
	var cfg Config
	var models corev1.ConfigMap
	into := map[string]any{"ConfigMap": &models, "TestBed": &cfg.Bed, "TrafficProfile": &cfg.Profile, "Benchmark": &cfg.Benchmark}
	for _, name := range []string{"testbed", "trafficprofile", "benchmark"} {
		text, err := os.ReadFile(filepath.Join("../../../config/samples/search", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var meta struct{ Kind string }
			if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(document), into[meta.Kind]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	cfg.Model = models.Data["router.csv"]
	return cfg
}

// The three searches find the same device, and Informed takes the least time.
func TestThreeSearchesOfOneDevice(t *testing.T) {
	cfg := searchSample(t)
	state := runSim(t, cfg)
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 4*4 {
		t.Fatalf("outcome %s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	capacity := map[int32]int64{64: 125_000, 128: 220_200, 512: 791_600, 1518: 900_000}
	took := map[string]int64{}
	for _, row := range state.Rows {
		want := capacity[row.FrameSize]
		if row.LossRatioPPM > 0 {
			want = want * 1_000_000 / (1_000_000 - row.LossRatioPPM)
			if row.Method != v1alpha1.MethodPartialDropRate || row.LossRatioPPM != 5000 || row.Search.Goal.Name != "PDR" || row.Trials != 0 {
				t.Errorf("partial drop rate %+v", row)
			}
		} else if row.Method != v1alpha1.MethodThroughput || row.Frames.Lost != 0 || row.Trials == 0 {
			t.Errorf("throughput %+v", row)
		}
		// The capacity of a trial varies by up to 100 ppm.
		if off := row.Frames.LineRatePPM - want; off > 150 || off < -1150 {
			t.Errorf("%s %d B loss ratio %d: found %d ppm, want %d", row.Test, row.FrameSize, row.LossRatioPPM, row.Frames.LineRatePPM, want)
		}
		if row.Search.UpperBoundPPM <= row.Frames.LineRatePPM || row.Frames.TrialMilliseconds != 60_000 || row.Search.Capped {
			t.Errorf("%s %d B: %+v", row.Test, row.FrameSize, row.Search)
		}
		if (row.Search.Start != "") != (row.Test == "informed") {
			t.Errorf("%s %d B began at %q", row.Test, row.FrameSize, row.Search.Start)
		}
		if row.LossRatioPPM == 0 {
			took[row.Test] += row.Search.TrialMilliseconds
		}
	}
	if took["informed"] >= took["ndr-pdr"] || took["ndr-pdr"] >= took["strict"] {
		t.Errorf("trials took %v ms", took)
	}
	// A run that is resumed before any row of the last test begins its search where
	// the whole run did: the rows before are all that it needs.
	for n := len(state.Rows) - 4; n < len(state.Rows); n++ {
		again, whole := runSim(t, cfg, WithRows(state.Rows[:n])).Rows[n], state.Rows[n]
		if again.Search.Start != whole.Search.Start || again.Frames.LineRatePPM-whole.Frames.LineRatePPM > 1000 || whole.Frames.LineRatePPM-again.Frames.LineRatePPM > 1000 {
			t.Errorf("resumed after %d rows: %d from %q, was %d from %q", n, again.Frames.LineRatePPM, again.Search.Start, whole.Frames.LineRatePPM, whole.Search.Start)
		}
	}
}

// Hints of earlier runs reach the search.
func TestHintsFromOutsideOfTheBenchmark(t *testing.T) {
	cfg := searchSample(t)
	cfg.Benchmark.Spec.Tests = cfg.Benchmark.Spec.Tests[2:]
	cfg.Profile.Spec.FrameSizes = []int32{64}
	cfg.Hints = []Hint{{FramesPerSecond: 1_860_000, Source: "benchmark of yesterday"}}
	row := runSim(t, cfg).Rows[0]
	if row.Search.Start != "benchmark of yesterday" || row.Frames.LineRatePPM > 125_100 || row.Frames.LineRatePPM < 124_000 {
		t.Errorf("%+v %+v", row, row.Search)
	}
}
