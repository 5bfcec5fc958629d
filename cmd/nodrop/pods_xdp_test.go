//go:build !standalone

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

const podManifests = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: router}
spec:
  device: {containerlab: {node: dut, topology: {configMapRef: {name: x, key: x}}}}
  engine: {kind: xdp}
  ports:
  - name: p1
    node: lab-1
    attachment: {hostDevice: {interface: nd-p1}}
    speed: 100M
    addresses: [198.18.1.2/24]
    gateways: [198.18.1.1]
  - name: p2
    node: lab-1
    attachment: {hostDevice: {interface: nd-p2}}
    speed: 100M
    addresses: [198.18.2.2/24]
    gateways: [198.18.2.1]
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pairs}
spec:
  frameSizes: [128, 512, 1024]
  pattern: {pairs: {bidirectional: true}}
  packet: {ipv4: {}}
---
apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: router}
spec:
  testBedName: router
  trafficProfileName: pairs
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: latency
    latency: {loads: ["1%", "2%"], trialDuration: 1500ms}
`

// isolated runs a test again as a process in a network namespace of its own,
// where all its threads and its children are. It reports whether this is it.
func isolated(t *testing.T) bool {
	t.Helper()
	needsRoot(t)
	const inside = "NODROP_TEST_ISOLATED"
	if os.Getenv(inside) == t.Name() {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	t.Logf("in a network namespace:\n%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}

// interfaceState returns the state of the interfaces that an agent must restore.
func interfaceState(t *testing.T) map[string]string {
	t.Helper()
	states := map[string]string{}
	links, err := netif.Whole(netlink.LinkList)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		addresses, err := netlink.AddrList(l, netlink.FAMILY_V4)
		if err != nil {
			t.Fatal(err)
		}
		text := l.Attrs().Flags.String()
		for _, a := range addresses {
			text += " " + a.IPNet.String()
		}
		if x := l.Attrs().Xdp; x != nil && x.Attached {
			text += " xdp"
		}
		states[l.Attrs().Name] = text
	}
	return states
}

// startConfined starts a process with no more rights than the container of a
// traffic pod has.
func startConfined(t *testing.T, args ...string) *process {
	t.Helper()
	return startWith(t, "-all,+net_admin,+net_raw,+bpf,+perfmon", args...)
}

// startWith starts a process with these capabilities, as setpriv names them.
func startWith(t *testing.T, capabilities string, args ...string) *process {
	t.Helper()
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Fatal("setpriv is needed to take rights away: install util-linux")
	}
	p := prepare(t, "nodrop", args...)
	p.cmd.Args = append([]string{
		setpriv, "--bounding-set=" + capabilities, "--inh-caps=-all", "--no-new-privs", p.cmd.Path,
	}, args...)
	p.cmd.Path = setpriv
	p.begin()
	return p
}

// A run in pods' processes over a real router survives the death of its runner
// and of its agent: every row is measured once, and the ports are given back.
func TestRunSurvivesItsPods(t *testing.T) {
	longtest.Skip(t, "TestKill in the cluster")
	if !isolated(t) {
		return
	}
	l := newPodLab(t)
	manifests := filepath.Join(l.secret("manifests", map[string][]byte{"all.yaml": []byte(podManifests)}), "all.yaml")
	config := bundleConfig(t, "", manifests)
	device := dut.NewNetns(config.Bed.Spec.Ports)
	if err := device.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer device.Restore(t.Context())
	before := interfaceState(t)

	ports, errs := plan.Ports(&config.Bed)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	owns := agent.Config{Node: "lab-1"}
	for _, p := range ports {
		port := agent.PortConfig{Name: p.Name, Interface: p.Name, SpeedBitsPerSecond: p.BitsPerSecond}
		for _, a := range p.HostAddresses(&config.Profile) {
			port.Addresses = append(port.Addresses, a.String())
		}
		owns.Ports = append(owns.Ports, port)
	}
	address := testserver.FreeAddress(t)
	startAgent := func() *process {
		return startConfined(t, "agent", "--config", l.json("agent.json", owns), "--tls", l.secret("tls-agent", l.pki.Agents[0].Data()),
			"--listen", address, "--controller", pki.RunnerName(podUID))
	}
	config.Agents = []runner.AgentEndpoint{{Name: pki.AgentName(podUID, 0), Address: address, Ports: []string{"p1", "p2"}}}

	owner := startAgent()
	run, client := l.runner(config)
	inTrial := func(rows int) func(runner.State) bool {
		return func(s runner.State) bool { return len(s.Rows) >= rows && s.Progress.Trial != "" }
	}
	first := await(t, run, client, "the second row", inTrial(1))
	kill(t, run)

	run, client = l.runner(config)
	await(t, run, client, "the third row", inTrial(2))
	kill(t, owner)
	owner = startAgent()

	state := await(t, run, client, "the end", isDone)
	if !state.Outcome.Measured() || len(state.Rows) != 6 {
		t.Fatalf("outcome %s, %d rows: %s\nrunner:\n%s\nagent:\n%s", state.Outcome, len(state.Rows), state.Message, &run.stderr, &owner.stderr)
	}
	for i, row := range state.Rows {
		if row.Frames.Sent == 0 || row.Frames.Received != row.Frames.Sent || row.Frames.Lost != 0 || row.Latency == nil {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if !slices.EqualFunc(first.Rows, state.Rows[:len(first.Rows)], func(a, b v1alpha1.ResultRow) bool {
		return a.ElapsedMilliseconds == b.ElapsedMilliseconds && a.Latency.AvgNs == b.Latency.AvgNs
	}) {
		t.Error("a finished row was measured again")
	}
	if len(state.Environment.Ports) != 2 || state.Environment.Ports[0].Driver != "veth" || len(state.Environment.Hosts) != 1 || state.Environment.Hosts[0].Name != "lab-1" {
		t.Errorf("environment %+v", state.Environment)
	}
	terminate(t, run)
	run.wants(exit.Passed, "", "outcome="+string(state.Outcome))
	terminate(t, owner)
	owner.wants(exit.Passed, "", "interfaces given back")
	after := interfaceState(t)
	// What the killed agent had changed, its successor took as found; addresses of
	// the ports are all that it can leave.
	for name, text := range after {
		after[name] = strings.TrimSpace(strings.NewReplacer("198.18.1.2/24", "", "198.18.2.2/24", "").Replace(text))
	}
	if !maps.Equal(before, after) {
		t.Errorf("interfaces were %v and are %v", before, after)
	}
}

// An agent that is asked to end gives its ports back as they were.
func TestAgentGivesItsPortsBack(t *testing.T) {
	if !isolated(t) {
		return
	}
	l := newPodLab(t)
	device := dut.NewNetns([]v1alpha1.Port{{Name: "p1"}, {Name: "p2"}})
	if err := device.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer device.Restore(t.Context())
	before := interfaceState(t)
	owns := agent.Config{Node: "lab-1", Ports: []agent.PortConfig{
		{Name: "p1", Interface: "p1", SpeedBitsPerSecond: 1e9, Addresses: []string{"198.18.1.2/24", "198.18.1.3/24"}},
		{Name: "p2", Interface: "p2", SpeedBitsPerSecond: 1e9},
	}}
	p := startConfined(t, "agent", "--config", l.json("agent.json", owns), "--tls", l.secret("tls-agent", l.pki.Agents[0].Data()),
		"--listen", testserver.FreeAddress(t), "--controller", pki.RunnerName(podUID))
	awaitText(t, p, "holding all ports")
	if during := interfaceState(t); !strings.Contains(during["p1"], "198.18.1.3/24") || !strings.Contains(during["p1"], "xdp") {
		t.Errorf("the agent holds its ports as %v", during)
	}
	terminate(t, p)
	p.wants(exit.Passed, "", "interfaces given back")
	if after := interfaceState(t); !maps.Equal(before, after) {
		t.Errorf("interfaces were %v and are %v", before, after)
	}
}
