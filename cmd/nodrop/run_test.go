package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
)

const simManifests = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: chassis}
spec:
  device: {simulated: {model: {configMapRef: {name: models, key: chassis.csv}}}}
  engine: {kind: sim, sim: {ports: {count: 256, speed: 100G}}}
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pairs}
spec:
  frameSizes: [64, 1518]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: models}
data:
  chassis.csv: |
    frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us
    64,69.6875,1.510,2.377,4.240,0.129,1.720
    1518,99.9940,1.650,2.928,5.160,0.110,2.020
`

const simBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: chassis}
spec:
  testBedName: chassis
  trafficProfileName: pairs
  tests:
  - name: throughput
    throughput: {resolution: 0.0001%, maxLoad: 99.994%}
  - name: latency
    latency: {loads: [throughput]}
`

// manifests writes the files of a run and returns the benchmark's path.
func manifests(t *testing.T, benchmark, rest string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"benchmark.yaml": benchmark, "rest.yaml": rest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "benchmark.yaml")
}

func TestRunSimulatedChassis(t *testing.T) {
	sendsNoFrames(t)
	p := start(t, "run", "-f", manifests(t, simBenchmark, simManifests), "-o", "json")
	p.wants(exit.Passed, "", "throughput 64 B: 26,547,61")
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s", err, &p.stdout)
	}
	if len(document.Rows) != 4 || document.Phase != v1alpha1.PhaseMeasured {
		t.Fatalf("%d rows, phase %s", len(document.Rows), document.Phase)
	}
	row := document.Rows[0]
	if row.Frames.LineRatePPM != 696875 || row.Frames.Lost != 0 || row.Latency == nil {
		t.Errorf("64 B: %+v", row)
	}
	if document.Environment == nil || document.Environment.Engine != v1alpha1.EngineSim || document.Profile == nil {
		t.Errorf("environment: %+v", document.Environment)
	}
}

func TestRunPrintsTheTable(t *testing.T) {
	sendsNoFrames(t)
	file := filepath.Join(t.TempDir(), "result.txt")
	p := start(t, "run", "-f", manifests(t, simBenchmark, simManifests), "--output-file", file)
	p.wants(exit.Passed, "", "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Benchmark default/chassis: Measured", "13.592    69.6875", "25.266    99.9940"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	sendsNoFrames(t)
	tests := map[string]struct {
		benchmark, rest string
		want            string
	}{
		"load of 120 %": {strings.Replace(simBenchmark, "99.994%", "120%", 1), simManifests,
			`benchmark.yaml:9: Benchmark "chassis": spec.tests[0].throughput.maxLoad: Invalid value: "120%": "120%" is not a load: give a percentage of line rate above 0% and up to 100%`},
		"misspelt field": {strings.Replace(simBenchmark, "resolution", "resolutionn", 1), simManifests,
			`unknown field; did you mean "resolution"?`},
		"misspelt bed": {strings.Replace(simBenchmark, "testBedName: chassis", "testBedName: chasis", 1), simManifests,
			`spec.testBedName: TestBed "chasis" not found` + "\nhint: did you mean \"chassis\"?"},
		"throughput of no test": {strings.Replace(simBenchmark, "  - name: throughput\n    throughput: {resolution: 0.0001%, maxLoad: 99.994%}\n", "", 1), simManifests,
			`benchmark.yaml:9: Benchmark "chassis": spec.tests[0].latency.loads[0]: Invalid value: "throughput": no throughput test stands before`},
		"broken model": {simBenchmark, strings.Replace(simManifests, "line_rate_percent", "line_rate", 1),
			"device.simulated.model: ConfigMap models, key chassis.csv: "},
		"a tag that the bed does not allow": {patternBenchmark, strings.Replace(bridgedBed, "{first: 7}, ", "", 1) + "  pattern: {pairs: {}}\n  packet: {ipv4: {}, vlan: {id: 7}}\n",
			`TrafficProfile "pattern": spec.packet.vlan.id: Invalid value: 7: spec.policy of TestBed bridge allows VLANs 100: use one of those, or ask the bed's owner`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t, "run", "-f", manifests(t, test.benchmark, test.rest))
			p.wants(exit.Use, "", test.want)
		})
	}
	t.Run("a group that the lab does not allow", func(t *testing.T) {
		policy := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(policy, []byte("groups: [239.0.0.0/8]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, "run", "--default-policy-file", policy, "-f", manifests(t, patternBenchmark, bridgedBed+"  pattern: {fanOut: {}}\n  packet: {ipv4: {}}\n"))
		p.wants(exit.Use, "", "the default policy of the lab, which holds on TestBed bridge, allows the groups 239.0.0.0/8")
	})
	start(t, "run").wants(exit.Use, "", "nodrop: no manifest given\nhint: nodrop run -f benchmark.yaml")
	start(t, "run", "-f", "nowhere.yaml").wants(exit.Use, "", "nowhere.yaml: no such file or directory")
}

func TestRunReadsStdin(t *testing.T) {
	sendsNoFrames(t)
	p := prepare(t, "nodrop", "run", "-f", "-")
	p.cmd.Stdin = strings.NewReader(simBenchmark + "---\n" + simManifests)
	p.begin()
	p.wants(exit.Passed, "13.592    69.6875", "")
}

func TestRunInterrupted(t *testing.T) {
	sendsNoFrames(t)
	// The two throughput rows take simulated minutes; at this pace the first ends
	// soon, and the second never.
	benchmark := strings.Replace(simBenchmark, "0.0001%, maxLoad: 99.994%", "50%, maxLoad: 99.994%, minLoad: 40%, trialDuration: 10s", 1)
	benchmark = strings.Replace(benchmark, "loads: [throughput]", "loads: [throughput], trialDuration: 24h", 1)
	p := start(t, "run", "-f", manifests(t, benchmark, simManifests), "--sim-pace", "60")
	p.says("99.9940% of line rate")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Aborted, "Benchmark default/chassis: Aborted\n", "stopping: the trial in hand is given up")
	if !strings.Contains(p.stdout.String(), "\n  the benchmark was aborted (2 finished rows are kept)\n") {
		t.Errorf("the rows that are kept are not counted:\n%s", &p.stdout)
	}
	if !strings.Contains(p.stdout.String(), "25.266    99.9940") {
		t.Errorf("the finished rows are not in the table:\n%s", &p.stdout)
	}
}
