//go:build !standalone

package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic"
)

// loadEnv starts the measurements of this file: how many runs are compared.
const loadEnv = "NODROP_METRICS_LOAD"

func measuredRuns(t *testing.T) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(os.Getenv(loadEnv), &n); err != nil {
		t.Skipf("a measurement: set %s to the number of runs (make metrics-load)", loadEnv)
	}
	return n
}

// TestMeasureSink prints how many points/s go from making them through the spool into
// InfluxDB: samples of 256 ports.
func TestMeasureSink(t *testing.T) {
	measuredRuns(t)
	const ports, intervals = 256, 1000
	config := bundleConfig(t, "small", filepath.Dir(manifests(t, smallBenchmark, smallManifests)))
	run, err := metrics.NewRun(&config.Benchmark, &config.Profile, &config.Bed, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sample := trials.Interval{Length: time.Second, Gaps: true, Ordering: true}
	for p := range ports {
		rx := traffic.RxSample{Received: 148_809_523, Bytes: 9_523_809_472, Latency: traffic.Latency{Count: 10, MinNs: 1000, MaxNs: 3000, SumNs: 20_000, Buckets: map[uint32]uint64{traffic.BucketIndex(2000): 10}}}
		sample.Ports = append(sample.Ports, trials.PortInterval{
			ClassAt: traffic.ClassAt{Port: fmt.Sprint("p", p), Class: "unicast"}, Sends: true, Receives: true, Intended: 148_809_523, Tx: traffic.TxSample{Sent: 148_809_523, Bytes: 9_523_809_472}, Rx: rx,
		})
	}
	for name, c := range map[string]struct {
		version testserver.InfluxVersion
		config  sink.Config
	}{
		"1.6, API v1":  {testserver.Influx16, sink.Config{API: sink.V1, Database: testserver.InfluxDatabase}},
		"1.13, API v1": {testserver.Influx113, sink.Config{API: sink.V1, Database: testserver.InfluxDatabase}},
		"1.13, API v2": {testserver.Influx113, sink.Config{API: sink.V2, Bucket: testserver.InfluxDatabase}},
	} {
		t.Run(name, func(t *testing.T) {
			db := testserver.StartInflux(t, c.version)
			c.config.URL, c.config.Token = db.URL, testserver.InfluxUser+":"+testserver.InfluxPassword
			to, err := sink.NewHTTP(c.config, nil)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "spool.db")
			kept, err := spool.Open(path, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			begin, bytes := time.Now(), 0
			for i := range intervals {
				var lines [][]byte
				for _, p := range run.Interval(sample, begin.Add(time.Duration(i)*time.Second)) {
					line, err := p.AppendLine(nil)
					if err != nil {
						t.Fatal(err)
					}
					lines, bytes = append(lines, line), bytes+len(line)
				}
				if err := kept.Take(t.Context(), nil, lines); err != nil {
					t.Fatal(err)
				}
			}
			taken := time.Since(begin)
			onDisk := kept.Stats().Series.Bytes
			begin = time.Now()
			d := delivery.New(kept, to, slog.New(slog.DiscardHandler))
			metricstest.Drain(t.Context(), d.Run, func() int64 { return d.Stats().Points() })
			written := time.Since(begin)
			const points = ports * intervals
			if got := d.Stats().Written; got != points {
				t.Fatalf("%d points written: %+v", got, d.Stats())
			}
			rows := db.InfluxQL("SELECT count(sent) AS count FROM nodrop_port")
			if fmt.Sprint(rows[0]["count"]) != fmt.Sprint(points) {
				t.Errorf("%v points are there, want %d", rows, points)
			}
			t.Logf("InfluxDB %s: %d points; made and kept %.0f points/s, written %.0f points/s; %d bytes each as lines, %d in the spool",
				name, points, points/taken.Seconds(), points/written.Seconds(), bytes/points, onDisk/points)
		})
	}
}

// TestMeasureMetricsCost prints what metrics cost a run of the engine xdp at its highest
// rate, with samples every 100 ms, by the median of interleaved pairs of runs. The database
// has the lowest priority: it is no part of a run, and has a machine of its own in a lab.
func TestMeasureMetricsCost(t *testing.T) {
	n := measuredRuns(t)
	needsRoot(t)
	db := testserver.StartInflux(t, testserver.Influx113, "nice", "-n", "19")
	const tests = "  - name: mrr\n    soak: {load: 100%, duration: 3s}\n"
	before, rest, _ := strings.Cut(bridgedBed, "  - {name: p3")
	_, rest, _ = strings.Cut(rest, "  policy:")
	bed := strings.ReplaceAll(strings.Replace(before+"  policy:"+rest, "frameSizes: [128]", "frameSizes: [64]", 1), "speed: 100M", "speed: 40G")
	file := manifests(t, benchmarkOf(tests), withPattern(bed, "{pairs: {}}", "{ipv4: {}}"))
	offered := map[bool][]float64{}
	var shares []float64
	for i := range n {
		// The machine's speed drifts: a pair is compared, and each goes first in half of them.
		first := i%2 == 0
		for _, on := range []bool{first, !first} {
			args := []string{"run", "-f", file, "-o", "json"}
			if on {
				args = append(args, "--metrics", db.URL, "--metrics-bucket", testserver.InfluxDatabase, "--metrics-interval", "100ms")
			}
			p := startWithToken(t, testserver.InfluxUser+":"+testserver.InfluxPassword, t.TempDir(), args...)
			p.exit()
			offered[on] = append(offered[on], float64(resultOf(t, p).Rows[0].Frames.OfferedFramesPerSecond))
		}
		shares = append(shares, offered[true][i]/offered[false][i])
	}
	share := median(shares)
	t.Logf("xdp, 64 B, %d pairs of runs: %.0f frames/s offered without metrics, %.0f with samples every 100 ms: %.4f, pairs %.4f", n, median(offered[false]), median(offered[true]), share, shares)
	if share < 0.98 {
		t.Errorf("metrics cost %.1f %% of the offered rate", 100*(1-share))
	}
}

// TestMeasureMetricsCostOfPorts prints what samples of 256 simulated ports each second cost.
func TestMeasureMetricsCostOfPorts(t *testing.T) {
	n := measuredRuns(t)
	db := testserver.StartInflux(t, testserver.Influx113)
	file := manifests(t, strings.Replace(simBenchmark, "resolution: 0.0001%", "resolution: 10%, trialDuration: 10s, searchTrialDuration: 1s", 1), simManifests)
	took := map[bool][]time.Duration{}
	offered := map[bool][]int64{}
	for range n {
		for _, on := range []bool{false, true} {
			args := []string{"run", "-f", file, "-o", "json", "--sim-pace", "10"}
			if on {
				args = append(args, "--metrics", db.URL, "--metrics-bucket", testserver.InfluxDatabase, "--metrics-interval", "100ms")
			}
			p := startWithToken(t, testserver.InfluxUser+":"+testserver.InfluxPassword, t.TempDir(), args...)
			p.exitWithin(5 * time.Minute)
			took[on] = append(took[on], p.cmd.ProcessState.UserTime()+p.cmd.ProcessState.SystemTime())
			offered[on] = append(offered[on], resultOf(t, p).Rows[0].Frames.OfferedFramesPerSecond)
		}
	}
	for _, all := range took {
		slices.Sort(all)
	}
	t.Logf("sim, 256 ports, %d runs each: CPU time %s without metrics, %s with a sample of each port per simulated second; offered %v and %v", n, took[false][n/2], took[true][n/2], offered[false], offered[true])
}
