package runner

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// invented is an invented published test: tables with the columns of the real ones, their
// pattern, and the bed.
type invented struct {
	ports                   int
	pattern                 v1alpha1.Pattern
	model, average, maximum string
	loads                   []v1alpha1.Load
	sizes                   []int32
}

// invent makes tables up.
func invent(r *rand.Rand, ports, sizes int, pattern v1alpha1.Pattern) invented {
	v := invented{ports: ports, pattern: pattern}
	for len(v.sizes) < sizes {
		if size := int32(64 + r.IntN(9216-64+1)); !slices.Contains(v.sizes, size) {
			v.sizes = append(v.sizes, size)
		}
	}
	slices.Sort(v.sizes)
	var loads []int64
	header := "frame_size_bytes"
	for len(loads) < 1+r.IntN(4) {
		// Whole percentages mostly, and others with up to four decimals.
		ppm := 10_000 * (1 + r.Int64N(100))
		if r.IntN(3) == 0 {
			ppm = 1000 + r.Int64N(999_001)
		}
		if !slices.Contains(loads, ppm) {
			loads = append(loads, ppm)
			v.loads = append(v.loads, v1alpha1.Load(v1alpha1.FormatPPM(ppm)))
			header += fmt.Sprintf(",load_%s_percent_us", strings.TrimSuffix(string(v1alpha1.FormatPPM(ppm)), "%"))
		}
	}
	v.loads = append(v.loads, v1alpha1.LoadThroughput)
	header += ",throughput_rate_us\n"
	v.average, v.maximum = header, header
	v.model = "frame_size_bytes,frames_per_second,tbit_per_second,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us\n"
	for _, size := range v.sizes {
		v.addRow(r, size, loads)
	}
	return v
}

// rates are the frames per second and the Tbit/s of all ports at a share of line
// rate, by the formula of RFC 2544 with rationals of its own.
func (v invented) rates(size int32, ppm int64) (frames *big.Rat, terabits string) {
	counted := int64(v.ports) // Frames count where they are received.
	if v.pattern.FanOut != nil {
		counted--
	}
	frames = big.NewRat(100_000_000_000*ppm, 1_000_000*8*(int64(size)+20))
	frames.Mul(frames, big.NewRat(counted, 1))
	bits := new(big.Rat).Mul(frames, big.NewRat(int64(size)*8, 1_000_000_000_000))
	return frames, bits.FloatString(3)
}

func (v *invented) addRow(r *rand.Rand, size int32, loads []int64) {
	capacity := []int64{999_940, 1_000_000, 10_000 + r.Int64N(990_000)}[r.IntN(3)]
	if slices.Contains(loads, capacity) {
		capacity-- // A load and the throughput at once would be stated twice.
	}
	us := func(ns int64) string { return big.NewRat(ns, 1000).FloatString(3) }
	frames, terabits := v.rates(size, capacity)
	// The clock of who published it was a little fast.
	frames.Mul(frames, big.NewRat(1_000_000_000+r.Int64N(100), 1_000_000_000))
	lowest := 1 + r.Int64N(3000)
	mean := lowest + 10 + r.Int64N(50_000)
	highest := mean + 10 + r.Int64N(3_000_000)
	jitter := func() (average, maximum int64) {
		maximum = 1 + r.Int64N(100_000)
		return r.Int64N(maximum/2 + 1), maximum
	}
	average, maximum := jitter()
	v.model += fmt.Sprintf("%d,%s,%s,%s,%s,%s,%s,%s,%s\n", size, frames.FloatString(2), terabits, big.NewRat(capacity, 10_000).FloatString(4),
		us(lowest), us(mean), us(highest), us(average), us(maximum))
	averages, maxima := fmt.Sprint(size), fmt.Sprint(size)
	for _, ppm := range loads {
		a, m := "NA", "NA"
		if ppm < capacity {
			one, other := jitter()
			a, m = us(one), us(other)
		}
		averages, maxima = averages+","+a, maxima+","+m
	}
	v.average += fmt.Sprintf("%s,%s\n", averages, us(average))
	v.maximum += fmt.Sprintf("%s,%s\n", maxima, us(maximum))
}

// config is a benchmark that asks the tables again.
func (v invented) config() Config {
	var cfg Config
	source := v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "tables", Key: "any.csv"}}
	cfg.Model, cfg.JitterAverageByLoad, cfg.JitterMaximumByLoad = v.model, v.average, v.maximum
	cfg.Bed.Name = "bed"
	cfg.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{Model: source, JitterAverageByLoad: &source, JitterMaximumByLoad: &source}
	cfg.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: int32(v.ports), Speed: "100G"}}}
	cfg.Profile.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: v.sizes, Pattern: v.pattern, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	cfg.Benchmark.Name = "any"
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.0001%"}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: v.loads}},
	}
	return cfg
}

// Invented tables come back likewise, whatever their sizes, loads and figures, and whatever
// the pattern.
func TestAnyTable(t *testing.T) {
	patterns := []struct {
		name string
		v1alpha1.Pattern
	}{
		{"pairs", v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}},
		{"full mesh", v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}},
		{"fan-out", v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 1}}},
		{"fan-out to groups", v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 33}}},
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2544))
		pattern, ports := patterns[r.IntN(len(patterns))], 2*(1+r.IntN(8))
		t.Run(fmt.Sprintf("seed %d, %s, %d ports", seed, pattern.name, ports), func(t *testing.T) {
			comesBack(t, invent(r, ports, 1+r.IntN(4), pattern.Pattern).config())
		})
	}
	// A full mesh has a stream for each pair of ports. Published tables are of 256 ports too.
	many := 256
	if testing.Short() {
		many = 32
	}
	t.Run(fmt.Sprintf("%d ports", many), func(t *testing.T) {
		r := rand.New(rand.NewPCG(256, 2544))
		comesBack(t, invent(r, many, 1, patterns[1].Pattern).config())
	})
}
