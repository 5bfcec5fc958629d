package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// pimManifests are a router that routes multicast from one port to two others, to a number of
// groups.
const pimManifests = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: pim}
spec:
  device: {containerlab: {node: dut, topology: {configMapRef: {name: pim, key: topology.clab.yaml}}}}
  engine: {kind: xdp}
  routing: {pim: {}}
  ports:
  - {name: p1, node: lab-1, attachment: {hostDevice: {interface: nd-p1}}, speed: 100M, addresses: [198.18.1.2/24], gateways: [198.18.1.1]}
  - {name: p2, node: lab-1, attachment: {hostDevice: {interface: nd-p2}}, speed: 100M, addresses: [198.18.2.2/24], gateways: [198.18.2.1]}
  - {name: p3, node: lab-1, attachment: {hostDevice: {interface: nd-p3}}, speed: 100M, addresses: [198.18.3.2/24], gateways: [198.18.3.1]}
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: groups}
spec:
  frameSizes: [128]
  pattern: {fanOut: {groups: 200}}
  packet: {ipv4: {}}
`

// pimBenchmark is a benchmark with tests on that router.
func pimBenchmark(tests ...string) string {
	return strings.NewReplacer("testBedName: frr", "testBedName: pim", "trafficProfileName: pairs", "trafficProfileName: groups").Replace(peersBenchmark(tests...))
}

// Frames to 200 groups go from one network to two others, over FRR as the rendezvous point,
// and all of them are counted.
func TestRunRoutesMulticast(t *testing.T) {
	needsRouter(t, router.FRR)
	document := runHere(t, pimBenchmark("{name: latency, latency: {loads: [1%], trialDuration: 1s}}",
		"{name: throughput, throughput: {resolution: 5%, minLoad: 0.5%, maxLoad: 10%, trialDuration: 500ms, searchTrialDuration: 200ms}}",
		fmt.Sprintf("{name: capacity, groupCapacity: {initialGroups: 50, groupIncrement: 150, load: 1%%, joinTime: 100ms, trialDuration: %v}}", 500*time.Millisecond*pace)), pimManifests)
	if len(document.Rows) != 3 {
		t.Fatalf("%d rows", len(document.Rows))
	}
	for _, row := range document.Rows {
		t.Log(report.RowLine(row), row.ValidityReasons, row.Message)
	}
	latency := document.Rows[0]
	if m := latency.Multicast; m == nil || m.Groups != 200 || m.Receivers != 2 || m.MinFrames == 0 {
		t.Errorf("groups: %+v", m)
	}
	for _, row := range []v1alpha1.ResultRow{latency, document.Rows[2]} {
		if row.Frames.Sent < 400 || row.Frames.Received != 2*row.Frames.Sent-row.Frames.Lost || row.Frames.Lost != 0 && !lostByMachine(t, row) {
			t.Errorf("%s: sent %d, received %d, lost %d", row.Name(), row.Frames.Sent, row.Frames.Received, row.Frames.Lost)
		}
	}
	if throughput := document.Rows[1]; throughput.Frames.OrZero().LineRatePPM == 0 && !nothingPassed(t, throughput) {
		t.Errorf("throughput: %+v", throughput.Frames)
	}
	if c := document.Rows[2].GroupCapacity; c == nil || c.Groups != 200 || c.FailedGroups != 0 || c.Receivers != 2 {
		t.Errorf("capacity: %+v", c)
	}
}

// FRR forwards a group that all have left until it has asked for other members, twice and with
// a second for the answer (RFC 3376 sections 8.8 and 8.9): the rest between trials is longer.
func TestRunGroupDelaysOfARouter(t *testing.T) {
	needsRouter(t, router.FRR)
	longtest.Skip(t, "TestRunGroupsOverBridge")
	benchmark := pimBenchmark("{name: join, groupJoinDelay: {load: 2%, leadTime: 500ms, waitTime: 3s, repetitions: 1}}",
		"{name: leave, groupLeaveDelay: {load: 2%, leadTime: 1s, waitTime: 3s, repetitions: 1}}")
	document := runHere(t, strings.Replace(benchmark, "restTime: 0s", "restTime: 3s", 1), pimManifests)
	if len(document.Rows) != 2 {
		t.Fatalf("%d rows", len(document.Rows))
	}
	for _, row := range document.Rows {
		t.Log(report.RowLine(row), row.ValidityReasons, row.Message)
		if d := row.GroupDelay; d == nil || d.Groups != 200 || d.Receivers != 2 || d.Unseen != 0 {
			t.Fatalf("%s: %+v", row.Name(), d)
		}
	}
	if leave := document.Rows[1].GroupDelay; time.Duration(leave.MinNs) < time.Second {
		t.Errorf("left after %v", time.Duration(leave.MinNs))
	}
}

// A trial in which FRR's pimd ends is void and run again over a router that was started anew.
func TestRunSurvivesItsMulticastRouter(t *testing.T) {
	needsRouter(t, router.FRR)
	longtest.Skip(t, "TestRunRoutesMulticast, and TestLearntRoutes in the cluster with trials that are repeated")
	few := strings.Replace(pimManifests, "groups: 200", "groups: 2", 1)
	p := start(t, "run", "-f", manifests(t, pimBenchmark("{name: soak, soak: {load: 1%, duration: 3s}}"), few), "-o", "json")
	pid := pimdOf(t, p)
	captureOn(t, pid, "p2").awaitTrial(t, 1)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	row := endPeers(t, p).Rows[0]
	if row.Trials != 2 || row.Validity == v1alpha1.ValidityInvalid || row.Multicast.MinFrames == 0 || row.Frames.Lost > row.Frames.Received/10 {
		t.Errorf("%d trials, %s %v, %+v:\n%s", row.Trials, row.Validity, row.ValidityReasons, row.Frames, &p.stderr)
	}
	if want := "repeated: the router of the device ended"; !strings.Contains(p.stderr.String(), want) {
		t.Errorf("no %q in\n%s", want, &p.stderr)
	}
}

// pimdOf is the pimd that a run has started.
func pimdOf(t *testing.T, p *process) (pid int) {
	t.Helper()
	eventually(t, "the multicast router of the run", func() bool {
		files, _ := filepath.Glob(filepath.Join(router.Dir, "router-*", "zebra", "pimd.pid"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", p.cmd.Process.Pid)) {
				return true
			}
		}
		return false
	}, func() string { return p.stderr.String() })
	return pid
}
