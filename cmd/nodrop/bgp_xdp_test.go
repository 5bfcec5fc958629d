package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/packet/mrt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// needsRouter skips a test where a router is not installed.
func needsRouter(t *testing.T, kind string) {
	t.Helper()
	needsRoot(t)
	if _, err := router.Version(t.Context(), kind); err != nil {
		t.Skipf("starts a router: %v", err)
	}
}

// peers are the manifests of the router with two BGP sessions.
func peers(routes string) string {
	rest := strings.Replace(xdpManifests, "  ports:", `  routing:
    bgp:
      deviceASN: 65000
      sessions:
      - {name: peer, asn: 65001, passwordSecretRef: {name: bgp, key: md5}}
  ports:`, 1)
	rest = strings.Replace(rest, "frameSizes: [128, 9216]", "frameSizes: [128]", 1)
	return rest + "  routing: {routes: [" + routes + "]}\n"
}

// runPeers runs a benchmark over BGP sessions, and looks at what is left of it.
func runPeers(t *testing.T, benchmark, rest string, args ...string) *report.Document {
	t.Helper()
	return endPeers(t, startPeers(t, benchmark, rest, args...))
}

// startPeers starts a benchmark over BGP sessions with passwords.
func startPeers(t *testing.T, benchmark, rest string, args ...string) *process {
	t.Helper()
	secrets := t.TempDir()
	if err := os.MkdirAll(filepath.Join(secrets, "bgp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secrets, "bgp", "md5"), []byte("s3cret-of-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, append([]string{"run", "-f", manifests(t, benchmark, rest), "-o", "json", "--secrets", secrets}, args...)...)
}

// endPeers waits for the result, and looks at what is left.
func endPeers(t *testing.T, p *process) *report.Document {
	t.Helper()
	p.exitWithin(8 * patience) // in full length trials take minutes, and may be repeated
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s", err, &p.stdout)
	}
	if strings.Contains(p.stdout.String()+p.stderr.String(), "s3cret-of-test") {
		t.Error("the password is printed")
	}
	if cleaned, err := router.Clean(router.Dir); err != nil || cleaned > 0 {
		t.Errorf("left of %d routers, %v", cleaned, err)
	}
	return &document
}

// overIPv6 are the manifests of peers with sessions and frames of IPv6.
func overIPv6(manifests string) string {
	return strings.NewReplacer("asn: 65001,", "asn: 65001, families: [ipv6Unicast],", "ipv4: {}", "ipv6: {}").Replace(manifests)
}

// peersBenchmark is a benchmark with tests on the bed of peers.
func peersBenchmark(tests ...string) string {
	head, _, _ := strings.Cut(xdpBenchmark, "  - name: throughput")
	for _, test := range tests {
		head += "  - " + test + "\n"
	}
	return head
}

// overLearnt are the tests of throughput and latency over learnt routes.
var overLearnt = []string{
	"{name: throughput, throughput: {resolution: 5%, minLoad: 0.5%, maxLoad: 20%, trialDuration: 500ms, searchTrialDuration: 200ms}}",
	"{name: latency, latency: {loads: [throughput], trialDuration: 500ms}}",
}

// Frames go to networks that a router learnt from two eBGP peers with passwords and BFD, 8
// from each: over IPv4 from FRR, and over IPv6 from BIRD.
func TestRunOverLearntRoutes(t *testing.T) {
	for kind, rest := range map[string]string{
		router.FRR:  peers("{name: networks, first: 198.18.128.0/24, count: 8}"),
		router.BIRD: overIPv6(peers(`{name: networks, first: "2001:2:0:100::/64", count: 8}`)),
	} {
		t.Run(kind, func(t *testing.T) {
			rare(t, kind == router.FRR) // TestRunConvergesAsCaptured and others have FRR.
			needsRouter(t, kind)
			// On a busy machine a router sends nothing for three intervals.
			rest = strings.Replace(rest, "asn: 65001,", "asn: 65001, bfd: {interval: 150ms, multiplier: 20},", 1)
			db := testserver.StartInflux(t, testserver.Influx16)
			t.Setenv(metricsTokenEnv, testserver.InfluxUser+":"+testserver.InfluxPassword)
			document := runPeers(t, peersBenchmark(overLearnt...), rest, "--router", kind, "--metrics", db.URL, "--metrics-database", testserver.InfluxDatabase, "--metrics-interval", "100ms")
			measured(t, document, 2)
			seesRouter(t, db)
			if !strings.Contains(document.Environment.Device, strings.ToUpper(kind)+" ") {
				t.Errorf("device: %s", document.Environment.Device)
			}
			for _, row := range document.Rows {
				if row.Validity == v1alpha1.ValidityInvalid || strings.Contains(strings.Join(row.ValidityReasons, " ")+row.Message, "BGP") {
					t.Errorf("%s: %s %v %s", row.Test, row.Validity, row.ValidityReasons, row.Message)
				}
			}
		})
	}
}

// seesRouter looks at what the samples say of a router that learnt 16 routes.
func seesRouter(t *testing.T, db *testserver.Influx) {
	t.Helper()
	counted := 0
	for _, p := range db.InfluxQL(`SELECT memory_bytes, routes FROM nodrop_device WHERE port = ''`) {
		if number(t, p["memory_bytes"]) < 100<<10 {
			t.Errorf("the router has %v", p)
		}
		if p["routes"] == nil {
			continue // Counting took long.
		}
		if counted++; number(t, p["routes"]) < 16 || number(t, p["routes"]) > 1000 {
			t.Errorf("the router has %v", p)
		}
	}
	if counted == 0 {
		t.Error("no sample has the routes of the router")
	}
}

// Where a session goes down in a trial, the trial is void and run again; where it does so
// again, the row is invalid and names the session. A router that ended is started anew.
func TestRunSurvivesItsSessions(t *testing.T) {
	needsRouter(t, router.FRR)
	longtest.Skip(t, "TestLearntRoutes in the cluster")
	p := startPeers(t, peersBenchmark("{name: once, soak: {load: 10%, duration: 2s}}", "{name: twice, soak: {load: 10%, duration: 2s}}"),
		peers("{name: networks, first: 198.18.128.0/24, count: 8}"))
	folder, pid := routerOf(t, p)
	w := captureOn(t, pid, "p2")
	w.awaitTrial(t, 1)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another router", func() bool { _, err := os.Stat(folder); return errors.Is(err, os.ErrNotExist) }, p.stderr.String)
	folder, _ = routerOf(t, p)
	console := consoleOf(t, folder)
	for trial := 3; trial <= 4; trial++ {
		w.awaitTrial(t, trial)
		if _, err := io.WriteString(console, "clear bgp 198.18.2.2\n"); err != nil {
			t.Fatal(err)
		}
	}
	document := endPeers(t, p)
	if len(document.Rows) != 2 {
		t.Fatalf("%d rows:\n%s", len(document.Rows), &p.stderr)
	}
	if once := document.Rows[0]; once.Trials != 2 || once.Validity == v1alpha1.ValidityInvalid {
		t.Errorf("a session that was down in one trial: %d trials, %s %v", once.Trials, once.Validity, once.ValidityReasons)
	}
	twice := document.Rows[1]
	if reasons := strings.Join(twice.ValidityReasons, "; "); twice.Trials != 2 || twice.Validity != v1alpha1.ValidityInvalid ||
		!strings.Contains(reasons, "BGP session peer-p2 on port p2 is down: the device sent NOTIFICATION Cease (6)") {
		t.Errorf("a session that was down in both trials: %d trials, %s %s", twice.Trials, twice.Validity, reasons)
	}
}

// consoleOf is the console of a router. It is open before it is needed: on a busy machine a
// new one takes longer to start than a trial lasts.
func consoleOf(t *testing.T, folder string) io.Writer {
	t.Helper()
	cmd := exec.Command("vtysh", "--vty_socket", folder)
	console, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = console.Close()
		_ = cmd.Wait() // It fails when the router has ended.
		if t.Failed() {
			t.Logf("vtysh: %s", &said)
		}
	})
	return console
}

// agrees reports whether a time of a row is that which a capture shows: it is at most the
// resolution of the row longer. A capture has a frame some milliseconds late on a busy
// machine.
func agrees(row int64, captured, within time.Duration) bool {
	const late = 20 * time.Millisecond
	over := time.Duration(row) - captured
	return over >= -late && over <= within+late
}

// conclusive skips what follows where others used the tester's processors, or kept it from
// reading its counters.
func conclusive(t *testing.T, row v1alpha1.ResultRow) {
	t.Helper()
	if row.Validity != v1alpha1.ValidityVirtual || strings.Contains(row.Message, "counters were not read") {
		t.Skipf("the machine is too busy to compare times: %s %v %s", row.Validity, row.ValidityReasons, row.Message)
	}
}

// A capture of the same run shows the same times of convergence, in two cycles, or in three without -short.
func TestRunConvergesAsCaptured(t *testing.T) {
	needsRouter(t, router.FRR)
	routes, cycles, times := 2000, 2, "leadTime: 300ms, announcedTime: 2s, withdrawnTime: 2s"
	if !testing.Short() {
		routes, cycles, times = 200_000, 3, "leadTime: 1s, announcedTime: 30s, withdrawnTime: 30s"
	}
	const interval = 100 * time.Millisecond
	p := startPeers(t, peersBenchmark(fmt.Sprintf("{name: convergence, convergence: {load: 10%%, cycles: %d, samplingInterval: %s, %s}}", cycles, interval, times)),
		overIPv6(peers(fmt.Sprintf(`{name: networks, sessions: [peer-p2], first: "2001:2:0:1000::/80", count: %d}`, routes))))
	_, pid := routerOf(t, p)
	w := captureOn(t, pid, "p2")
	document := endPeers(t, p)
	row := document.Rows[0]
	c := row.Convergence
	if c == nil || c.Routes != int64(routes) || c.Cycles != int32(cycles) {
		t.Fatalf("%+v: %s", c, row.Message)
	}
	conclusive(t, row)
	if row.Trials > int32(cycles) {
		t.Skipf("the machine is too busy to compare times: %d trials for %d cycles, and the row does not say which of them counted", row.Trials, cycles)
	}
	captured := w.converged(t)
	t.Logf("the row has %+v and %+v, the capture %v; %s; %+v", c.Announce, c.Withdraw, captured, row.Message, row.Series)
	if len(captured) != cycles {
		t.Fatalf("captured %d trials, want %d", len(captured), cycles)
	}
	within := time.Duration(c.ResolutionNs)
	for what, e := range map[string]struct {
		row v1alpha1.EventTimes
		of  func(convergence) time.Duration
	}{
		"announced": {c.Announce, func(c convergence) time.Duration { return c.announced }},
		"withdrawn": {c.Withdraw, func(c convergence) time.Duration { return c.withdrawn }},
	} {
		var seen []time.Duration
		for _, one := range captured {
			seen = append(seen, e.of(one))
		}
		if e.row.Unseen > 0 || !agrees(e.row.MinNs, slices.Min(seen), within) || !agrees(e.row.MaxNs, slices.Max(seen), within) {
			t.Errorf("%s: %+v, captured %v", what, e.row, seen)
		}
	}
}

// flapPeers are the manifests of a router of four ports, whose neighbors on three of them announce
// the same number of routes with paths of three lengths.
func flapPeers(routes int) string {
	set := `{name: %[1]s, sessions: [peer-%[2]s], first: "2001:2:0:1000::/80", count: %[4]d, asPath: [%[3]s]}`
	rest := overIPv6(peers(strings.Join([]string{
		fmt.Sprintf(set, "primary", "p2", "", routes), fmt.Sprintf(set, "secondary", "p3", "64512", routes), fmt.Sprintf(set, "tertiary", "p4", "64512, 64513", routes),
	}, ", ")))
	port := `  - name: p%[1]d
    node: lab-1
    attachment: {hostDevice: {interface: nd-p%[1]d}}
    speed: 100M
    addresses: [198.18.%[1]d.2/24, "2001:2:0:%[1]d::2/64"]
    gateways: [198.18.%[1]d.1, "2001:2:0:%[1]d::1"]
`
	rest = strings.Replace(rest, "---\n", fmt.Sprintf(port, 3)+fmt.Sprintf(port, 4)+"---\n", 1)
	return strings.Replace(rest, "pattern: {pairs: {}}", "pattern: {partialMesh: {senders: [p1], receivers: [p2]}}", 1)
}

// Routes flap between FRR's paths while frames are sent to all of them. What is lost, and
// when frames take which path, is as a capture of the same run shows.
func TestRunFlapsAsCaptured(t *testing.T) {
	needsRouter(t, router.FRR)
	longtest.Skip(t, "TestRunConvergesAsCaptured, and the sample route-flap")
	routes, flapped, times := 2000, 500, "leadTime: 500ms, withdrawnTime: 1s, announcedTime: 1s"
	if !testing.Short() {
		routes, flapped, times = 200_000, 50_000, "leadTime: 1s, withdrawnTime: 15s, announcedTime: 15s"
	}
	const interval = 100 * time.Millisecond
	p := startPeers(t, peersBenchmark(fmt.Sprintf("{name: flap, routeFlap: {routes: primary, flapped: %d, flaps: 3, load: 10%%, samplingInterval: %s, %s}}", flapped, interval, times)), flapPeers(routes))
	_, pid := routerOf(t, p)
	w := captureOn(t, pid, "p2", "p3", "p4")
	document := endPeers(t, p)
	f := document.Rows[0].RouteFlap
	if f == nil || f.Routes != int64(routes) || f.Flapped != int64(flapped) {
		t.Fatalf("%+v: %s", f, document.Rows[0].Message)
	}
	conclusive(t, document.Rows[0])
	seen := w.flapped(t, "p2", 3)
	t.Logf("the row has %+v, the capture %+v", f, seen)
	within := time.Duration(f.ResolutionNs)
	for what, e := range map[string]struct {
		row      v1alpha1.EventTimes
		captured []time.Duration
	}{"withdrawn": {f.Withdraw, seen.withdrawn}, "announced": {f.Announce, seen.announced}} {
		if e.row.Unseen > 0 || !agrees(e.row.MinNs, slices.Min(e.captured), within) || !agrees(e.row.MaxNs, slices.Max(e.captured), within) {
			t.Errorf("%s: %+v, captured %v", what, e.row, e.captured)
		}
	}
	if f.Elsewhere != seen.elsewhere || f.FlappedLost+f.StableLost != seen.lost || f.Elsewhere == 0 {
		t.Errorf("%d frames elsewhere and %d lost, captured %d and %d", f.Elsewhere, f.FlappedLost+f.StableLost, seen.elsewhere, seen.lost)
	}
}

// A router without memory for all routes ends the test by itself, and a new one does the
// next test.
func TestRunRouteCapacityOfALimitedRouter(t *testing.T) {
	needsRouter(t, router.FRR)
	t.Parallel() // It waits for the router, and compares no rates.
	document := runPeers(t, peersBenchmark("{name: full, routeCapacity: {routes: many, block: 4000, waitTime: 5s}}", "{name: few, routeCapacity: {routes: few, block: 4000, waitTime: 5s}}"),
		overIPv6(peers(`{name: many, sessions: [peer-p1], first: "2001:2:0:1000::/80", count: 400000, traffic: false}, {name: few, sessions: [peer-p1], first: "2001:2:0:2000::/80", count: 8000, traffic: false}`)),
		"--router-memory", "64Mi")
	if len(document.Rows) != 2 {
		t.Fatalf("%d rows", len(document.Rows))
	}
	full, few := document.Rows[0], document.Rows[1]
	t.Logf("%+v %s", full.RouteCapacity, full.Message)
	if c := full.RouteCapacity; c == nil || !c.Full || c.FullBlocks < 1 || c.Routes != int64(c.FullBlocks)*4000 || c.Announced != c.Routes+4000 || c.Witness != "peer-p2" {
		t.Errorf("%+v", c)
	}
	if m := full.RouteCapacity.Memory; m == nil || m.IdleBytes <= 0 || m.HeldBytes <= m.IdleBytes || m.HeldBytes > 64<<20 || m.BytesPerRoute <= 0 || m.EndBytes != nil || int32(len(m.Blocks))*m.BlocksEach > full.RouteCapacity.FullBlocks {
		t.Errorf("memory of a router that ended: %+v", m)
	}
	if want := "the router reached its memory limit of 64 MiB"; !strings.Contains(full.Message, want) {
		t.Errorf("message %q, want %s", full.Message, want)
	}
	if c := few.RouteCapacity; c == nil || c.Full || c.Routes != 8000 || c.Received != 8000 || c.Memory == nil || c.Memory.EndBytes == nil {
		t.Errorf("after the router was started anew: %+v %s", c, few.Message)
	}
	if !strings.Contains(document.Environment.Device, "FRR") || !strings.HasSuffix(document.Environment.Device, "with 64 MiB of memory") {
		t.Errorf("device: %s", document.Environment.Device)
	}
}

// FRR passes on as many labels as there are routes, in both tests of the sample.
func TestRunLabelCapacity(t *testing.T) {
	needsRouter(t, router.FRR)
	t.Parallel() // It waits for the router, and compares no rates.
	document := endPeers(t, start(t, "run", "-f", filepath.Join(samplesDir, "ldp-capacity", "benchmark.yaml"), "-o", "json"))
	if len(document.Rows) != 2 {
		t.Fatalf("%d rows", len(document.Rows))
	}
	for _, row := range document.Rows {
		t.Logf("%+v %s", row.RouteCapacity, row.Message)
		if c := row.RouteCapacity; c == nil || c.Full || c.Routes != 20000 || c.Received != 20000 || c.Witness != "peer-p2" || c.RoutesPerSecond == nil || c.Memory == nil || c.Memory.EndBytes == nil {
			t.Errorf("%+v: %s %v", c, row.Message, row.ValidityReasons)
		}
	}
}

// A router sends its routes again without losing a frame, and is restarted under traffic:
// frames are lost until it has its routes again.
func TestRunRefreshesAndRestarts(t *testing.T) {
	needsRouter(t, router.FRR)
	longtest.Skip(t, "the samples route-refresh and bgp-restart")
	document := runPeers(t, peersBenchmark(
		"{name: refresh, routeRefresh: {load: 5%, leadTime: 300ms, interval: 3s, refreshes: 2}}",
		"{name: restart, bgpRestart: {load: 5%, leadTime: 300ms, recoveryTime: 8s, restarts: 1}}"),
		overIPv6(peers(`{name: networks, sessions: [peer-p2], first: "2001:2:0:1000::/80", count: 2000}`)))
	if len(document.Rows) != 2 {
		t.Fatalf("%d rows", len(document.Rows))
	}
	refresh, restart := document.Rows[0], document.Rows[1]
	r := refresh.RouteRefresh
	s := restart.BGPRestart
	if r != nil && s != nil && r.Unseen+s.Unseen > 0 && (!result.Trusted(refresh.Validity) || !result.Trusted(restart.Validity)) {
		t.Skipf("the machine is too busy for a router to send its routes in time: %s %q, %s %q", refresh.Validity, refresh.Message, restart.Validity, restart.Message)
	}
	if r == nil || r.Refresh == nil || r.Unseen > 0 || r.Session != "peer-p1" || r.Routes != 2000 || r.Refresh.MinNs <= 0 {
		t.Errorf("%+v: %s", r, refresh.Message)
	}
	if s == nil || s.SessionsBack == nil || s.RoutesBack == nil || s.Unseen > 0 || s.Sessions != 2 || s.Routes != 2000 || s.AvgLost == 0 ||
		s.RoutesBack.MinNs < s.SessionsBack.MinNs || s.Outage.MinNs <= 0 || s.Outage.MaxNs > s.RoutesBack.MaxNs+int64(time.Second) {
		t.Fatalf("%+v: %s %v", s, restart.Message, restart.ValidityReasons)
	}
	t.Logf("refresh %+v; outage %v, sessions back after %v, routes after %v", *r.Refresh, time.Duration(s.Outage.AvgNs), time.Duration(s.SessionsBack.AvgNs), time.Duration(s.RoutesBack.AvgNs))
	conclusive(t, refresh)
	if refresh.Frames.Lost > 0 {
		t.Errorf("%d frames were lost by a refresh: %s", refresh.Frames.Lost, refresh.Message)
	}
	if reasons := strings.Join(restart.ValidityReasons, "; "); strings.Contains(reasons, "BGP session") {
		t.Errorf("the restart is held against the device: %s", reasons)
	}
}

// All sessions of a bed are established with a router, and survive routes that flap.
func TestRunSessionScale(t *testing.T) {
	t.Parallel() // It waits for the router, and compares no rates.
	for _, kind := range standalone.Routers {
		t.Run(kind, func(t *testing.T) {
			needsRouter(t, kind)
			rare(t, kind == router.BIRD)
			each := int32(8)
			if !testing.Short() {
				each = 100
			}
			rest := strings.Replace(peers(`{name: networks, first: "2001:2:0:1000::/80", count: 10, traffic: false}`), "asn: 65001,", fmt.Sprintf("asn: 65001, count: %d,", each), 1)
			p := startPeers(t, peersBenchmark("{name: scale, sessionScale: {first: 8, waitTime: 1m, soakTime: 500ms, flapInterval: 50ms}}"), overIPv6(rest), "--router", kind)
			document := endPeers(t, p)
			if len(document.Rows) != 1 {
				t.Fatalf("%d rows: %s", len(document.Rows), document.Message)
			}
			row := document.Rows[0]
			c := row.SessionScale
			if c == nil || c.Full || c.Sessions != 2*each || c.Tried != 2*each || c.Down > 0 || c.Flaps < 2 || c.EstablishNs <= 0 || row.Frames != nil {
				t.Fatalf("%+v: %s", c, row.Message)
			}
			t.Logf("%d sessions in %v, %d flaps in %v", c.Sessions, time.Duration(c.EstablishNs), c.Flaps, time.Duration(c.SoakNs))
		})
	}
}

// Routes of a dump in MRT come through a router with their attributes, next to those that
// frames go to.
func TestRunOverRoutesOfADump(t *testing.T) {
	needsRouter(t, router.FRR)
	t.Parallel() // It waits for the router, and compares no rates.
	file := filepath.Join(t.TempDir(), "rib.mrt.gz")
	if err := os.WriteFile(file, dumpOfRoutes(t, 3000), 0o600); err != nil {
		t.Fatal(err)
	}
	rest := peers(`{name: networks, sessions: [peer-p2], first: 198.18.128.0/24, count: 8}, {name: table, sessions: [peer-p1], traffic: false, mrt: {file: ` + file + `}}`)
	document := runPeers(t, peersBenchmark("{name: soak, soak: {load: 1%, duration: 500ms}}", "{name: capacity, routeCapacity: {routes: table, block: 1000, waitTime: 20s}}"), rest)
	if len(document.Rows) != 2 {
		t.Fatalf("%d rows: %s", len(document.Rows), document.Message)
	}
	if row := document.Rows[0]; strings.Contains(row.Message, "installed") || row.Frames.Received == 0 {
		t.Errorf("%+v: %s", row.Frames, row.Message)
	}
	if c := document.Rows[1].RouteCapacity; c == nil || c.Full || c.Routes != 3000 || c.FullBlocks != 3 || c.Witness != "peer-p2" {
		t.Errorf("%+v: %s", c, document.Rows[1].Message)
	}
}

// dumpOfRoutes is a compressed dump of a collector with one peer, whose routes are /28 of
// 198.19.0.0/16 by paths of two lengths.
func dumpOfRoutes(t *testing.T, count uint32) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	add := func(kind mrt.MRTSubTypeTableDumpv2, body mrt.Body) {
		m, err := mrt.NewMRTMessage(time.Unix(1_700_000_000, 0), mrt.TABLE_DUMPv2, kind, body)
		if err != nil {
			t.Fatal(err)
		}
		record, err := m.Serialize()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	id := netip.MustParseAddr("198.18.0.1")
	add(mrt.PEER_INDEX_TABLE, mrt.NewPeerIndexTable(id, "", []*mrt.Peer{mrt.NewPeer(id, netip.MustParseAddr("198.18.0.11"), 64511, true)}))
	whole := routing.Routes{First: netip.MustParsePrefix("198.19.0.0/28"), Count: count}
	for i := range count {
		path := []uint32{64511, 64600}
		if i%3 == 0 {
			path = append(path, 4200000000+i%100)
		}
		prefix, err := bgp.NewIPAddrPrefix(whole.Prefix(i))
		if err != nil {
			t.Fatal(err)
		}
		add(mrt.RIB_IPV4_UNICAST, mrt.NewRib(i, bgp.RF_IPv4_UC, prefix, []*mrt.RibEntry{mrt.NewRibEntry(0, 0, 0, []bgp.PathAttributeInterface{
			bgp.NewPathAttributeOrigin(0),
			bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, path)}),
			bgp.NewPathAttributeCommunities([]uint32{64511<<16 | i%7}),
		}, false)}))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a run that was killed leaves of its router, nodrop clean ends.
func TestCleanEndsARouter(t *testing.T) {
	needsRouter(t, router.FRR)
	p := startPeers(t, peersBenchmark("{name: long, soak: {load: 1%, duration: 1h}}"), peers("{name: networks, first: 198.18.128.0/24, count: 8}"), "--router-memory", "1Gi")
	folder, pid := routerOf(t, p)
	captureOn(t, pid, "p2").awaitTrial(t, 1)
	text, err := os.ReadFile(filepath.Join(folder, "zebra", "zebra.pid"))
	if err != nil {
		t.Fatal(err)
	}
	zebra := "/proc/" + strings.TrimSpace(string(text))
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exit()
	clean := start(t, "clean")
	clean.wants(exit.Passed, "that are gone: ", "")
	for _, path := range []string{folder, fmt.Sprintf("/proc/%d", pid), zebra} {
		eventually(t, path+" to be gone", func() bool { _, err := os.Stat(path); return errors.Is(err, os.ErrNotExist) }, clean.stdout.String)
	}
	if left, _ := filepath.Glob("/sys/fs/cgroup/*/nodrop-" + filepath.Base(folder)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRunRefusesSessions(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	good := peers("{name: networks, first: 198.18.128.0/24, count: 8}")
	for want, c := range map[string]struct {
		change []string
		args   []string
	}{
		"the password in key md5 of Secret bgp is not known without a cluster\nhint: write it to DIR/bgp/md5, and give --secrets DIR or $NODROP_SECRETS": {},
		"reading the password in key md5 of Secret bgp":                  {args: []string{"--secrets", t.TempDir()}},
		`--router: "gobgp" is none of bird, frr`:                         {change: []string{", passwordSecretRef: {name: bgp, key: md5}", ""}, args: []string{"--router", "gobgp"}},
		`--router-memory: "much" is not an amount of memory`:             {change: []string{", passwordSecretRef: {name: bgp, key: md5}", ""}, args: []string{"--router-memory", "much"}},
		"whose addresses are the gateways of the ports: give port p2 th": {change: []string{"{name: peer, asn: 65001, passwordSecretRef: {name: bgp, key: md5}}", "{name: peer, port: p2, asn: 65001, deviceAddress: 198.18.2.9}"}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"run", "-f", manifests(t, peersBenchmark(overLearnt...), strings.NewReplacer(c.change...).Replace(good))}, c.args...)...)
			p.wants(exit.Use, "", want)
		})
	}
}
