package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// needsTRex returns the directory of a real TRex server.
func needsTRex(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(standalone.TrexDirEnv)
	if dir == "" {
		t.Skipf("%s is not set: it names the directory of a real TRex server", standalone.TrexDirEnv)
	}
	needsRoot(t)
	return dir
}

// bridgeForTRex is a bed whose device is a Linux bridge, with the name of the bed of
// the sample.
func bridgeForTRex(speed string) string {
	return fmt.Sprintf(`apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: frr-router}
spec:
  device: {containerlab: {node: dut, topology: {configMapRef: {name: frr-router, key: topology.clab.yaml}}}}
  engine: {kind: trex}
  ports:
  - name: p1
    node: lab-1
    attachment: {hostDevice: {interface: nd-p1}}
    speed: %[1]s
    addresses: [198.18.1.2/24]
  - name: p2
    node: lab-1
    attachment: {hostDevice: {interface: nd-p2}}
    speed: %[1]s
    addresses: [198.18.1.3/24]
`, speed)
}

// prepareOnTRex prepares a run on a real server, which the returned function finds
// again: the processes of TRex that the run, or what is left of it, started.
func prepareOnTRex(t *testing.T, args ...string) (*process, func() []int) {
	t.Helper()
	dir := needsTRex(t)
	binary, err := filepath.EvalSymlinks(filepath.Join(dir, server.Binary))
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, "nodrop", append([]string{"run", "--trex", dir}, args...)...)
	mark := "NODROP_TEST_RUN=" + rand.Text()
	p.cmd.Env = append(p.cmd.Env, mark)
	return p, func() []int { return processesOf(t, binary, mark) }
}

// processesOf returns the ids of the processes of a program that have a variable in their
// environment.
func processesOf(t *testing.T, program, variable string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, link := range links {
		// A process that has ended since has neither.
		exe, err := os.Readlink(link)
		if err != nil || exe != program {
			continue
		}
		environment, err := os.ReadFile(filepath.Join(filepath.Dir(link), "environ"))
		if err != nil || !slices.Contains(strings.Split(string(environment), "\x00"), variable) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// onTRex runs a benchmark on a real server and returns its result. Neither a server
// nor an interface may be left of it.
func onTRex(t *testing.T, args ...string) *report.Document {
	t.Helper()
	before := interfaces(t)
	p, servers := prepareOnTRex(t, append(args, "-o", "json")...)
	p.begin()
	// It takes longer than other processes.
	var status *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	p.measured("")
	t.Logf("progress:\n%s", &p.stderr)
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s", err, &p.stdout)
	}
	if left := servers(); len(left) > 0 {
		t.Errorf("TRex servers %v are left over", left)
	}
	for name := range interfaces(t) {
		if !before[name] {
			t.Errorf("interface %s is left over", name)
		}
	}
	return &document
}

// conserved checks that every frame of a row is accounted for, and that latency is
// of a share of them, without the jitter that TRex does not measure.
func conserved(t *testing.T, row v1alpha1.ResultRow) {
	t.Helper()
	if row.Frames.Received+row.Frames.Lost != row.Frames.Sent || row.Method == v1alpha1.MethodThroughput && row.Frames.LineRatePPM > 0 && row.Frames.Lost > 0 {
		t.Errorf("%s: sent %d, received %d, lost %d", report.RowLine(row), row.Frames.Sent, row.Frames.Received, row.Frames.Lost)
	}
	if row.Frames.Sent == 0 {
		return // What could not be measured says why.
	}
	l := row.Latency
	if l == nil || l.MinNs <= 0 || l.MinNs > l.AvgNs || l.AvgNs > l.MaxNs || l.JitterAvgNs != nil || l.JitterMaxNs != nil {
		t.Errorf("%s: latency %+v", report.RowLine(row), l)
	}
}

// sampleFiles are the benchmark and the profile of a sample, unchanged.
func sampleFiles(t *testing.T) []string {
	t.Helper()
	var args []string
	for _, name := range []string{"benchmark.yaml", "trafficprofile.yaml"} {
		args = append(args, "-f", copied(t, filepath.Join("../../config/samples/frr", name)))
	}
	return args
}

// copied is a file in a directory of its own, so that a run does not find what lies
// next to it.
func copied(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(own, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return own
}

func bedFile(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "testbed.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-f", path}
}

// The RFC 2544 benchmark of the samples runs unchanged with TRex over a Linux bridge.
// At a load within its reach TRex is not the limit, and the bridge forwards all.
func TestSampleOnTRexWithinReach(t *testing.T) {
	document := onTRex(t, append(sampleFiles(t), bedFile(t, bridgeForTRex("2M"))...)...)
	full := 0
	for _, row := range document.Rows {
		conserved(t, row)
		// TRex is late by up to 100 ms by itself, a tenth of a trial of 1 s: the row has what
		// was offered.
		if row.Validity != v1alpha1.ValidityVirtual || row.Frames.Lost > 0 || row.Method == v1alpha1.MethodThroughput && row.Frames.LineRatePPM < v1alpha1.PPM/11*10 {
			t.Errorf("%s: lost %d, %q: want line rate without loss", report.RowLine(row), row.Frames.Lost, row.ValidityReasons)
		} else if row.Method == v1alpha1.MethodThroughput {
			full++
		}
	}
	if len(document.Rows) != 15 || full != 3 {
		t.Errorf("%d rows, and %d frame sizes of which the bridge was seen to forward line rate: want 15, and 3", len(document.Rows), full)
	}
	env := document.Environment
	if !strings.HasPrefix(env.Device, "Linux bridge in a network namespace") || env.Engine != v1alpha1.EngineTRex {
		t.Errorf("device %q, engine %q", env.Device, env.Engine)
	}
	for _, want := range []string{"TRex v3.", "software mode"} {
		if !strings.Contains(env.EngineDetail, want) {
			t.Errorf("engine %q lacks %q", env.EngineDetail, want)
		}
	}
	if !strings.Contains(env.LatencyType, "1,000 frames per second of each stream") {
		t.Errorf("latency %q does not say which frames are timed", env.LatencyType)
	}
	if p := env.Ports; len(p) != 2 || p[0].Interface != "p1" || p[0].Driver != "net_af_packet" {
		t.Errorf("ports %+v", p)
	}
}

// On ports of 10 Gbit/s software cannot send what is asked for, and the verdicts say
// so instead of blaming the bridge.
func TestSampleOnTRexBeyondReach(t *testing.T) {
	document := onTRex(t, append(sampleFiles(t), bedFile(t, bridgeForTRex("10G"))...)...)
	if len(document.Rows) != 15 {
		t.Fatalf("%d rows, want 15", len(document.Rows))
	}
	for _, row := range document.Rows {
		conserved(t, row)
		if row.Method != v1alpha1.MethodThroughput && row.Load != "50%" {
			continue
		}
		if row.Validity != v1alpha1.ValidityGeneratorBound || len(row.ValidityReasons) == 0 || !strings.Contains(row.ValidityReasons[0], "the tester") {
			t.Errorf("%s: %q, want GeneratorBound and why", report.RowLine(row), row.ValidityReasons)
		}
		if row.Method == v1alpha1.MethodThroughput && row.Frames.LineRatePPM >= v1alpha1.PPM {
			t.Errorf("%s: software does not fill 10 Gbit/s", report.RowLine(row))
		}
		// What was offered is what was sent in the time that it took.
		// Each of the two streams ends within one frame of its load.
		if offered := row.Frames.OfferedFramesPerSecond * row.Frames.TrialMilliseconds; row.Frames.Sent > 0 && offered > 1000*(row.Frames.Sent+2)+row.Frames.TrialMilliseconds {
			t.Errorf("%s: offered %d frames/s, and sent %d in %d ms", report.RowLine(row), row.Frames.OfferedFramesPerSecond, row.Frames.Sent, row.Frames.TrialMilliseconds)
		}
	}
}

// trexBenchmark is a trial that lasts until something ends it.
const trexBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: router}
spec:
  testBedName: frr
  trafficProfileName: pairs
  tests:
  - name: latency
    latency: {loads: [1%], trialDuration: 4h}
`

// inTrialOnTRex is a run in its trial, and the process of its server.
func inTrialOnTRex(t *testing.T) (p *process, id int, servers func() []int) {
	t.Helper()
	p, servers = prepareOnTRex(t, "-f", manifests(t, trexBenchmark, asTRex(strings.Replace(xdpManifests, "[128, 9216]", "[128]", 1))))
	p.begin()
	p.says("latency 128 B: 1% for 24h0m0s")
	running := servers()
	if len(running) != 1 {
		t.Fatalf("TRex servers %v, want one", running)
	}
	return p, running[0], servers
}

// An interruption ends the server too.
func TestRunOnTRexInterrupted(t *testing.T) {
	p, _, servers := inTrialOnTRex(t)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Aborted, "Benchmark default/router: Aborted", "stopping")
	if left := servers(); len(left) > 0 {
		t.Errorf("TRex servers %v are left over", left)
	}
}

// TestRunOnTRexWithoutItsServer checks that a run ends when its server dies, with the reason
// and the server's last lines: no process would start the server again.
func TestRunOnTRexWithoutItsServer(t *testing.T) {
	p, id, servers := inTrialOnTRex(t)
	if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Error, "the run was stopped: the TRex server ended by itself (signal: killed)", "its last lines were:\n")
	if left := servers(); len(left) > 0 {
		t.Errorf("TRex servers %v are left over", left)
	}
}
