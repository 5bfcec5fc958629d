package runner

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/manifests/manifest"
)

// reference reads a sample of a published table as a user would run it.
func reference(t *testing.T, file string) Config {
	t.Helper()
	set, err := manifest.Load([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := set.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Benchmark: bundle.Benchmark, Profile: bundle.Profile, Bed: bundle.Bed, Model: bundle.Tables[""].Model,
		JitterAverageByLoad: bundle.Tables[""].JitterAverageByLoad, JitterMaximumByLoad: bundle.Tables[""].JitterMaximumByLoad,
	}
}

// Every published table comes back through the whole path, from the manifests to
// the printed report: the cables alone, a full mesh of 256 ports on layer 2 and on
// IPv4, and multicast from one port to 255, whose frames are counted where they
// are received.
func TestPublishedTablesComeBack(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/reference/*benchmark.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d benchmarks of published tables, want 4: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if testing.Short() && strings.Contains(file, "ipv4") {
				t.Skip("the same mesh as that of layer 2: make test-long")
			}
			cfg := reference(t, file)
			if testing.Short() && cfg.Profile.Spec.Pattern.FullMesh != nil {
				// 65,280 streams: all eight sizes, and a search from 0, with make test-long. The tables of cables and of
				// multicast have both.
				ofSizes(&cfg, 64)
				search := cfg.Benchmark.Spec.Tests[0].Throughput
				search.MinLoad, search.MaxLoad = "69.68%", "69.69%"
			}
			comesBack(t, cfg)
		})
	}
}

// ofSizes leaves the frames of some sizes in a profile and in the tables of its device.
func ofSizes(cfg *Config, sizes ...int32) {
	cfg.Profile.Spec.FrameSizes = sizes
	for _, table := range []*string{&cfg.Model, &cfg.JitterAverageByLoad, &cfg.JitterMaximumByLoad} {
		lines := strings.SplitAfter(*table, "\n")
		*table = lines[0]
		for _, line := range lines[1:] {
			first, _, _ := strings.Cut(line, ",")
			if size, err := strconv.Atoi(first); err == nil && slices.Contains(sizes, int32(size)) {
				*table += line
			}
		}
	}
}
