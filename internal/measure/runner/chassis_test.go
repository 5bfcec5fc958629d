package runner

import (
	"context"
	"encoding/csv"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// sample reads the sample of the simulated chassis as a user would apply it.
func sample(t *testing.T) Config {
	t.Helper()
	var cfg Config
	var models corev1.ConfigMap
	into := map[string]any{"ConfigMap": &models, "TestBed": &cfg.Bed, "TrafficProfile": &cfg.Profile, "Benchmark": &cfg.Benchmark}
	files, err := filepath.Glob("../../../config/samples/sim/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sample found: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var meta struct{ Kind string }
			if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
				t.Fatal(err)
			}
			if into[meta.Kind] == nil {
				t.Fatalf("%s: kind %q was not expected", file, meta.Kind)
			}
			if err := yaml.UnmarshalStrict([]byte(document), into[meta.Kind]); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
	ref := cfg.Bed.Spec.Device.Simulated.Model.ConfigMapRef
	if ref.Name != models.Name {
		t.Fatalf("the bed's model is in %q, the sample has %q", ref.Name, models.Name)
	}
	cfg.Model = models.Data[ref.Key]
	return cfg
}

func runSim(t *testing.T, cfg Config, opts ...Option) State {
	t.Helper()
	gen, err := NewSim(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
	state := Run(context.Background(), complete(cfg), gen, append([]Option{WithDevice(gen.Device())}, opts...)...)
	if !state.Done {
		t.Fatal("the run ended without being done")
	}
	return state
}

// A benchmark on 256 simulated 100G ports gives the published table back that is
// its model: throughput to the resolution of the search, rates computed from it,
// latency and jitter, all to the printed digits.
func TestSimulatedChassisGivesItsTableBack(t *testing.T) {
	cfg := sample(t)
	table, err := csv.NewReader(strings.NewReader(cfg.Model)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	state := runSim(t, cfg)
	t.Logf("%d trials in %s", state.Progress.TrialsDone, time.Since(started))
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 8+8*4 {
		t.Fatalf("outcome %s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	printed := map[string]map[string]string{}
	for _, line := range table[1:] {
		row := map[string]string{}
		for i, name := range table[0] {
			row[name] = line[i]
		}
		printed[row["frame_size_bytes"]] = row
	}
	t.Log(strings.Join(table[0], ","))
	for _, row := range state.Rows {
		want := printed[strconv.Itoa(int(row.FrameSize))]
		if row.Validity != v1alpha1.ValiditySimulated {
			t.Errorf("%s %d B is %s: %v", row.Test, row.FrameSize, row.Validity, row.ValidityReasons)
		}
		var got map[string]string
		switch {
		case row.Method == v1alpha1.MethodThroughput:
			got = rates(row)
			checkAgainstPublished(t, row, want)
			// What is published as frames/s was counted with the tester's own clock, a
			// few 1e-8 off nominal: it follows from the rate found here.
			want["frames_per_second"] = exactFrames(row.FrameSize, want["line_rate_percent"])
			if row.Frames.Lost != 0 || row.Frames.TrialMilliseconds != 60_000 {
				t.Errorf("%d B: decided by a trial of %d ms with %d lost", row.FrameSize, row.Frames.TrialMilliseconds, row.Frames.Lost)
			}
		case row.Load == v1alpha1.LoadThroughput:
			got = delays(row)
			want["shown"] = strings.Join([]string{want["frame_size_bytes"], want["frames_per_second"], want["tbit_per_second"], want["line_rate_percent"],
				got["latency_min_us"], got["latency_avg_us"], got["latency_max_us"], got["jitter_avg_us"], got["jitter_max_us"]}, ",")
			t.Log(want["shown"])
		}
		for column, value := range got {
			if value != want[column] {
				t.Errorf("%s %d B: %s is %s, want %s", row.Test, row.FrameSize, column, value, want[column])
			}
		}
	}
	for size, row := range printed {
		if row["shown"] == "" {
			t.Errorf("no latency at throughput for %s B", size)
		}
	}
}

func rates(row v1alpha1.ResultRow) map[string]string {
	return map[string]string{
		"frames_per_second": strconv.FormatInt(row.Frames.FramesPerSecond, 10),
		"tbit_per_second":   big.NewRat(row.Frames.BitsPerSecond, 1_000_000_000_000).FloatString(3),
		"line_rate_percent": big.NewRat(row.Frames.LineRatePPM, 10_000).FloatString(4),
	}
}

func delays(row v1alpha1.ResultRow) map[string]string {
	us := func(ns int64) string { return big.NewRat(ns, 1000).FloatString(3) }
	l := row.Latency
	return map[string]string{
		"latency_min_us": us(l.MinNs), "latency_avg_us": us(l.AvgNs), "latency_max_us": us(l.MaxNs),
		"jitter_avg_us": us(*l.JitterAvgNs), "jitter_max_us": us(*l.JitterMaxNs),
	}
}

// exactFrames computes 256 * 100G * share / (8 * (size + 20)) with rationals of
// its own.
func exactFrames(size int32, percent string) string {
	share, _ := new(big.Rat).SetString(percent)
	share.Mul(share, big.NewRat(256*100_000_000_000, 100*8*(int64(size)+20)))
	return share.FloatString(0)
}

func checkAgainstPublished(t *testing.T, row v1alpha1.ResultRow, want map[string]string) {
	t.Helper()
	published, err := strconv.ParseInt(want["frames_per_second"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if off := published - row.Frames.FramesPerSecond; off < 0 || off*10_000_000 > published {
		t.Errorf("%d B: %d frames/s is %d from the published %d, more than 1e-7", row.FrameSize, row.Frames.FramesPerSecond, off, published)
	}
	if row.FrameSize == 64 && (row.Frames.LineRatePPM != 696_875 || row.Frames.FramesPerSecond != 26_547_619_048) {
		t.Errorf("64 B: %d ppm and %d frames/s, want 696875 and 26547619048", row.Frames.LineRatePPM, row.Frames.FramesPerSecond)
	}
}
