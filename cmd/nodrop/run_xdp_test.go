package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

const xdpManifests = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: frr}
spec:
  device: {containerlab: {node: dut, topology: {configMapRef: {name: frr-router, key: topology.clab.yaml}}}}
  engine: {kind: xdp}
  ports:
  - name: p1
    node: lab-1
    attachment: {hostDevice: {interface: nd-p1}}
    speed: 100M
    addresses: [198.18.1.2/24, "2001:2:0:1::2/64"]
    gateways: [198.18.1.1, "2001:2:0:1::1"]
  - name: p2
    node: lab-1
    attachment: {hostDevice: {interface: nd-p2}}
    speed: 100M
    addresses: [198.18.2.2/24, "2001:2:0:2::2/64"]
    gateways: [198.18.2.1, "2001:2:0:2::1"]
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pairs}
spec:
  frameSizes: [128, 9216]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`

// oneSize are the manifests with small frames only.
var oneSize = strings.Replace(xdpManifests, "[128, 9216]", "[128]", 1)

const xdpBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: router}
spec:
  testBedName: frr
  trafficProfileName: pairs
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: throughput
    throughput: {resolution: 5%, minLoad: 0.5%, maxLoad: 20%, trialDuration: 500ms, searchTrialDuration: 200ms}
  - name: latency
    latency: {loads: [throughput], trialDuration: 500ms}
`

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("makes network namespaces and loads BPF programs: run the tests as root")
	}
	if os.Getenv(onlyTests) == "logic" {
		t.Skip("sends frames: make frames")
	}
}

// onlyTests is the variable by which make chooses the tests that send frames ("frames") or the tests
// that send none ("logic").
const onlyTests = "NODROP_ONLY"

// sendsNoFrames lets a test run next to others.
func sendsNoFrames(t *testing.T) {
	t.Helper()
	leaveToLogic(t)
	t.Parallel()
}

// leaveToLogic skips a test without frames where only others run.
func leaveToLogic(t *testing.T) {
	t.Helper()
	if os.Getenv(onlyTests) == "frames" {
		t.Skip("sends no frames: make logic")
	}
}

// rare skips a case in short runs that differs little from one that they have.
func rare(t *testing.T, is bool) {
	t.Helper()
	if testing.Short() && is {
		t.Skip("another case is like it: make test-long")
	}
}

// runHere runs a benchmark on the engine xdp and returns its result. Nothing may
// be left of it on this machine.
func runHere(t *testing.T, benchmark, rest string) *report.Document {
	t.Helper()
	needsRoot(t)
	before := interfaces(t)
	p := start(t, "run", "-f", manifests(t, benchmark, rest), "-o", "json")
	p.measures("")
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s", err, &p.stdout)
	}
	for name := range interfaces(t) {
		if !before[name] {
			t.Errorf("interface %s is left over", name)
		}
	}
	return &document
}

func interfaces(t *testing.T) map[string]bool {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, i := range all {
		names[i.Name] = true
	}
	return names
}

// measured checks that frames really went to and fro, and that every one of a
// throughput is accounted for.
func measured(t *testing.T, document *report.Document, rows int) {
	t.Helper()
	if len(document.Rows) != rows {
		t.Fatalf("%d rows, want %d", len(document.Rows), rows)
	}
	for _, row := range document.Rows {
		if nothingPassed(t, row) {
			continue
		}
		if row.Frames.LineRatePPM < 5000 || row.Frames.Sent == 0 || row.Frames.Received != row.Frames.Sent-row.Frames.Lost || row.Latency == nil {
			t.Errorf("%s %d B: %+v", row.Test, row.FrameSize, row)
		}
		if row.Method == v1alpha1.MethodThroughput && row.Frames.Lost != 0 {
			t.Errorf("%s %d B: a throughput with %d lost frames", row.Test, row.FrameSize, row.Frames.Lost)
		}
	}
}

// nothingPassed reports whether the machine was so busy that frames were lost at the lowest load
// of a search, as the row says.
func nothingPassed(t *testing.T, row v1alpha1.ResultRow) bool {
	t.Helper()
	if row.Frames.OrZero().LineRatePPM > 0 || result.Trusted(row.Validity) {
		return false
	}
	t.Logf("%s %d B found no load: %s %q", row.Test, row.FrameSize, row.Validity, row.ValidityReasons)
	return true
}

// lostByMachine reports whether the row lost frames while the machine was too busy to
// attribute the loss.
func lostByMachine(t *testing.T, row v1alpha1.ResultRow) bool {
	t.Helper()
	if row.Frames.OrZero().Lost == 0 || result.Trusted(row.Validity) {
		return false
	}
	t.Logf("%s %d B lost %d frames: %s %q", row.Test, row.FrameSize, row.Frames.Lost, row.Validity, row.ValidityReasons)
	return true
}

func TestRunRouterInNamespace(t *testing.T) {
	document := runHere(t, xdpBenchmark, xdpManifests)
	measured(t, document, 4)
	const place = "in place of node dut of the containerlab topology frr-router/topology.clab.yaml"
	device := document.Environment.Device
	if !strings.HasPrefix(device, "Linux router in a network namespace") || !strings.HasSuffix(device, place) {
		t.Errorf("device: %s", device)
	}
	notes := slices.DeleteFunc(slices.Clone(document.Notes), func(note string) bool {
		return strings.Contains(note, "the kernel's soft interrupts came before all processes") // where the machine has a processor for the device
	})
	if len(notes) != 1 || !strings.Contains(notes[0], place) {
		t.Errorf("notes: %q", document.Notes)
	}
	if ports := document.Environment.Ports; len(ports) != 2 || ports[0].Driver != "veth" || ports[0].Interface != "p1" {
		t.Errorf("ports: %+v", ports)
	}
}

func TestRunRouterIPv6(t *testing.T) {
	longtest.Skip(t, "TestRunOverLearntRoutes")
	document := runHere(t, xdpBenchmark, strings.Replace(xdpManifests, "ipv4: {}", "ipv6: {hostsPerPort: 4}", 1))
	measured(t, document, 4)
}

// Two senders share the streams of a port, or the result says why there is one.
func TestRunWithTwoSenders(t *testing.T) {
	longtest.Skip(t, "TestTwoSenders of the engine")
	rest := strings.NewReplacer("ipv4: {}", "ipv4: {hostsPerPort: 4}", "engine: {kind: xdp}", "engine: {kind: xdp, xdp: {sendersPerPort: 2}}").Replace(xdpManifests)
	document := runHere(t, xdpBenchmark, rest)
	measured(t, document, 4)
	cpus, detail := document.Environment.Hosts[0].TesterCPUs, document.Environment.EngineDetail
	for _, port := range []string{"p1", "p2"} {
		if where := port + " sends on CPUs "; !strings.Contains(detail, where) {
			t.Errorf("engine %q, want %q in it", detail, where)
		}
	}
	const fewer = "1 of 2 senders send, because the tester may use no other CPUs"
	if one := !strings.ContainsAny(cpus, ",-"); strings.Contains(detail, fewer) != one {
		t.Errorf("engine %q, and the tester has the CPUs %s", detail, cpus)
	}
}

func TestRunBridgeInNamespace(t *testing.T) {
	longtest.Skip(t, "TestCompareRouterAndBridge")
	rest := strings.NewReplacer(`    gateways: [198.18.1.1, "2001:2:0:1::1"]`+"\n", "", `    gateways: [198.18.2.1, "2001:2:0:2::1"]`+"\n", "",
		"198.18.2.2/24", "198.18.1.3/24", "2001:2:0:2::2/64", "2001:2:0:1::3/64").Replace(xdpManifests)
	document := runHere(t, xdpBenchmark, rest)
	measured(t, document, 4)
	if device := document.Environment.Device; !strings.HasPrefix(device, "Linux bridge in a network namespace") {
		t.Errorf("device: %s", device)
	}
}

func TestRunBackToBack(t *testing.T) {
	longtest.Skip(t, "TestCalibrateAndRun")
	rest := strings.NewReplacer(`    gateways: [198.18.1.1, "2001:2:0:1::1"]`+"\n", "", `    gateways: [198.18.2.1, "2001:2:0:2::1"]`+"\n", "",
		"198.18.2.2/24", "198.18.1.3/24", "2001:2:0:2::2/64", "2001:2:0:1::3/64",
		"{containerlab: {node: dut, topology: {configMapRef: {name: frr-router, key: topology.clab.yaml}}}}", "{backToBack: {}}").Replace(oneSize)
	document := runHere(t, xdpBenchmark, rest)
	measured(t, document, 2)
	if document.Environment.Device != "none: the ports are the ends of veth pairs" || len(document.Notes) != 0 {
		t.Errorf("device %q, notes %q", document.Environment.Device, document.Notes)
	}
}

// Manifests from stdin are read again by the program that executes itself anew.
func TestRunReadsStdinBeforeItIsolates(t *testing.T) {
	needsRoot(t)
	p := prepare(t, "nodrop", "run", "-f", "-")
	p.cmd.Stdin = strings.NewReader(xdpBenchmark + "---\n" + oneSize)
	p.begin()
	p.measures("Benchmark default/router: ")
}

func TestRunInterruptedInNamespace(t *testing.T) {
	needsRoot(t)
	t.Parallel() // It compares no rates.
	before := interfaces(t)
	p := start(t, "run", "-f", manifests(t, strings.Replace(xdpBenchmark, "loads: [throughput], trialDuration: 500ms", "loads: [1%], trialDuration: 4h", 1), xdpManifests))
	p.says("latency 128 B: 1% for 4h0m0s")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Aborted, "Benchmark default/router: Aborted\n  the benchmark was aborted (2 finished rows are kept)", "stopping")
	for name := range interfaces(t) {
		if !before[name] {
			t.Errorf("interface %s is left over", name)
		}
	}
}

func TestRunWithoutRoot(t *testing.T) {
	sendsNoFrames(t)
	path := manifests(t, xdpBenchmark, xdpManifests)
	p := prepare(t, "nodrop", "run", "-f", path)
	if os.Geteuid() == 0 {
		asNobody(t, p, filepath.Dir(path))
	}
	p.begin()
	p.wants(exit.Use, "", "only root may\nhint: sudo nodrop run")
}

// asNobody runs a process without rights, with a copy of the program that it can
// reach: the directories that tests are built in are for their owner alone.
func asNobody(t *testing.T, p *process, dir string) {
	t.Helper()
	const nobody = 65534
	program, err := os.ReadFile(p.cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	reachable, err := os.MkdirTemp("", "nodrop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(reachable) })
	p.cmd.Path = filepath.Join(reachable, "nodrop")
	if err := os.WriteFile(p.cmd.Path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{reachable, dir, filepath.Dir(dir), filepath.Join(dir, "benchmark.yaml"), filepath.Join(dir, "rest.yaml")} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}
