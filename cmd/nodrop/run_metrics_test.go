package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/canonical"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// smallManifests are two ports with one frame size, and trials that are short.
const smallManifests = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: two}
spec:
  device: {simulated: {model: {configMapRef: {name: models, key: two.csv}}}}
  engine: {kind: sim, sim: {ports: {count: 2, speed: 10G}}}
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pairs}
spec:
  frameSizes: [64]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: models}
data:
  two.csv: |
    frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us
    64,40,1,2,3,0.1,0.2
`

const smallBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: small, namespace: team-a}
spec:
  testBedName: two
  trafficProfileName: pairs
  tests:
  - name: throughput
    throughput: {resolution: 10%, trialDuration: 5s, searchTrialDuration: 2s}
  - name: latency
    latency: {loads: [10%, throughput], trialDuration: 5s}
`

// startWithToken starts nodrop with a token and a cache directory of its own.
func startWithToken(t *testing.T, token, cache string, args ...string) *process {
	t.Helper()
	p := prepare(t, "nodrop", args...)
	p.cmd.Env = append(p.cmd.Env, metricsTokenEnv+"="+token, "XDG_CACHE_HOME="+cache)
	p.begin()
	return p
}

func resultOf(t *testing.T, p *process) report.Document {
	t.Helper()
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s", err, &p.stdout)
	}
	return document
}

// Every row and every sample of a run is in a real InfluxDB, and is read back by InfluxQL
// and, from API v2, by Flux.
func TestRunWritesToInfluxDB(t *testing.T) {
	sendsNoFrames(t)
	for name, c := range map[string]struct {
		version testserver.InfluxVersion
		flags   []string
	}{
		"v1 of 1.6":  {testserver.Influx16, []string{"--metrics-database", testserver.InfluxDatabase}},
		"v1 of 1.13": {testserver.Influx113, []string{"--metrics-database", testserver.InfluxDatabase}},
		"v2 of 1.13": {testserver.Influx113, []string{"--metrics-bucket", testserver.InfluxDatabase}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testserver.StartInflux(t, c.version)
			gated := smallBenchmark + "  gates:\n  - {name: fast, test: throughput, metric: LineRate, min: 35%}\n"
			args := append([]string{"run", "-f", manifests(t, gated, smallManifests), "-o", "json", "--metrics", db.URL, "--metrics-interval", "500ms"}, c.flags...)
			p := startWithToken(t, testserver.InfluxUser+":"+testserver.InfluxPassword, t.TempDir(), args...)
			p.wants(exit.Passed, "", " points written to "+db.URL)
			document := resultOf(t, p)
			checkRows(t, document, db.InfluxQL(`SELECT * FROM nodrop_row`))
			trials := db.InfluxQL(`SELECT * FROM nodrop_trial`)
			samples := db.InfluxQL(`SELECT sum(sent) AS sent, count(sent) AS count FROM nodrop_port`)
			var sent, tens int64
			for _, trial := range trials {
				sent += number(t, trial["sent"])
				tens += number(t, trial["tx_time_ns"]) / 500_000_000
			}
			if len(samples) != 1 || number(t, samples[0]["sent"]) != sent || sent == 0 || number(t, samples[0]["count"]) != 2*tens {
				t.Errorf("%v in samples, and %d trials sent %d frames in %d intervals", samples, len(trials), sent, tens)
			}
			if runs := db.InfluxQL(`SELECT * FROM nodrop_run WHERE bed = 'two'`); len(runs) != 1 || runs[0]["team"] != "team-a" || runs[0]["inputs"] != inputsOf(t, &document) {
				t.Errorf("runs: %v, want the inputs %s", runs, inputsOf(t, &document))
			}
			if verdicts := db.InfluxQL(`SELECT * FROM nodrop_gate WHERE gate = 'fast'`); len(verdicts) != 1 || verdicts[0]["verdict"] != "Passed" || number(t, verdicts[0]["min"]) != 350_000 {
				t.Errorf("verdicts: %v", verdicts)
			}
			if c.version == testserver.Influx113 {
				// Simulated time passes faster: the end of the run is still to come.
				checkRows(t, document, db.Flux(fmt.Sprintf(`from(bucket: %q) |> range(start: 0, stop: 2100-01-01T00:00:00Z) |> filter(fn: (r) => r._measurement == "nodrop_row")
					|> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")`, testserver.InfluxDatabase+"/autogen")))
			}
		})
	}
}

// inputsOf is the digest by which the history of a result is found.
func inputsOf(t *testing.T, document *report.Document) string {
	t.Helper()
	var b report.HistoryBuilder
	if err := b.Add(document); err != nil {
		t.Fatal(err)
	}
	h, err := b.History()
	if err != nil {
		t.Fatal(err)
	}
	return h.Digest
}

func number(t *testing.T, of any) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(fmt.Sprint(of), &n); err != nil {
		t.Fatalf("%v is no number: %v", of, err)
	}
	return n
}

// checkRows compares rows of a database with those of the result.
func checkRows(t *testing.T, document report.Document, rows []testserver.Row) {
	t.Helper()
	if len(rows) != len(document.Rows) {
		t.Fatalf("%d rows in the database, and %d in the result", len(rows), len(document.Rows))
	}
	by := map[any]testserver.Row{}
	for _, row := range rows {
		by[row["digest"]] = row
	}
	for _, want := range document.Rows {
		digest, err := canonical.Digest(want)
		if err != nil {
			t.Fatal(err)
		}
		got := by[digest]
		if got == nil {
			t.Fatalf("no row with the digest of %s: %v", want.Name(), rows)
		}
		for name, value := range map[string]any{
			"bed": "two", "team": "team-a", "device": "simulated", "frame_size": want.FrameSize, "method": want.Method, "test": want.Test, "validity": want.Validity,
			"frames_offeredFramesPerSecond": want.Frames.OfferedFramesPerSecond, "frames_sent": want.Frames.Sent, "frames_lost": want.Frames.Lost,
			"latency_avgNs": want.Latency.AvgNs, "latency_p99Ns": want.Latency.P99Ns,
		} {
			if fmt.Sprint(got[name]) != fmt.Sprint(value) {
				t.Errorf("%s: %s is %v, want %v", want.Name(), name, got[name], value)
			}
		}
	}
}

// A database that is away costs a run nothing but its metrics, which the next run writes.
// The token is nowhere.
func TestRunWithoutItsDatabase(t *testing.T) {
	sendsNoFrames(t)
	const token = "a-token-that-nobody-may-see"
	cache, file := t.TempDir(), manifests(t, smallBenchmark, smallManifests)
	fake := metricstest.NewFake(t)
	fake.Set(func(metricstest.Request) (int, map[string]string, string, []int) {
		return 503, map[string]string{"Retry-After": "60"}, `{"message":"` + token + ` has to wait"}`, nil
	})
	args := []string{"run", "-f", file, "-o", "json", "--metrics", fake.URL, "--metrics-bucket", "lab"}
	first := startWithToken(t, token, cache, args...)
	first.wants(exit.Passed, "", "metrics: 0 points written")
	for _, said := range []string{"wait in " + cache, "503", "[hidden] has to wait"} {
		if !strings.Contains(first.stderr.String(), said) {
			t.Errorf("it does not say %q:\n%s", said, &first.stderr)
		}
	}
	if len(fake.Points()) != 0 {
		t.Error("the fake stored points")
	}
	noToken(t, cache, token, first)
	fake.Set(nil)
	second := startWithToken(t, token, cache, args...)
	second.wants(exit.Passed, "", " points written to "+fake.URL)
	rows := map[string]int{}
	for key := range fake.Points() {
		rows[strings.SplitN(key, ",", 2)[0]]++
	}
	if rows["nodrop_row"] != 6 || rows["nodrop_run"] != 2 || rows["nodrop_trial"] == 0 || rows["nodrop_port"] == 0 {
		t.Errorf("%v of two runs", rows)
	}
	if strings.Contains(second.stderr.String(), "wait in") {
		t.Errorf("points wait:\n%s", &second.stderr)
	}
	noToken(t, cache, token, second)
}

// noToken searches for the token in everything that a run wrote.
func noToken(t *testing.T, dir, token string, p *process) {
	t.Helper()
	if strings.Contains(p.stdout.String()+p.stderr.String(), token) {
		t.Errorf("the token is printed:\n%s", &p.stderr)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(token)) {
			t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files in %s: %v", files, dir, err)
	}
}

func TestMetricsFlagsThatDoNotFit(t *testing.T) {
	sendsNoFrames(t)
	file := manifests(t, smallBenchmark, smallManifests)
	for want, flags := range map[string][]string{
		"holds a password":        {"--metrics", "http://a:secret@influxdb:8086", "--metrics-bucket", "lab"},
		"needs a bucket":          {"--metrics", "http://influxdb:8086"},
		"needs a database":        {"--metrics", "http://influxdb:8086", "--metrics-api", "v3"},
		"v1, v2 and v3":           {"--metrics", "http://influxdb:8086", "--metrics-api", "v4", "--metrics-bucket", "lab"},
		"--metrics-interval":      {"--metrics", "http://influxdb:8086", "--metrics-bucket", "lab", "--metrics-interval", "1ms"},
		"there is no --metrics":   {"--metrics-bucket", "lab"},
		"reading the authorities": {"--metrics", "http://influxdb:8086", "--metrics-bucket", "lab", "--metrics-ca-file", "/nowhere"},
	} {
		p := startWithToken(t, "", t.TempDir(), append([]string{"run", "-f", file}, flags...)...)
		p.wants(exit.Use, "", want)
		if strings.Contains(p.stderr.String(), "secret") {
			t.Errorf("the password is printed: %s", &p.stderr)
		}
	}
}
