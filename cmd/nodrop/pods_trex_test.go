//go:build !standalone

package main

import (
	"crypto/rand"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// podServer is the TRex container of a traffic pod.
type podServer struct {
	*server.Server
	t      *testing.T
	config server.Config
	mark   string
}

func startPodServer(t *testing.T, c server.Config) *podServer {
	t.Helper()
	s := &podServer{t: t, config: c, mark: rand.Text()}
	t.Setenv("NODROP_TEST_RUN", s.mark)
	s.start()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *podServer) start() {
	s.t.Helper()
	running, err := server.Start(s.t.Context(), s.config, server.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Server = running
}

// restart is the death of the container, and its next start.
func (s *podServer) restart() {
	s.t.Helper()
	binary, err := filepath.EvalSymlinks(filepath.Join(s.config.Dir, server.Binary))
	if err != nil {
		s.t.Fatal(err)
	}
	ids := processesOf(s.t, binary, "NODROP_TEST_RUN="+s.mark)
	if len(ids) != 1 {
		s.t.Fatalf("servers %v: want one", ids)
	}
	if err := syscall.Kill(ids[0], syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	<-s.Done()
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

// A run survives the death of the TRex server next to the agent: the trial in hand is
// void and repeated, and no finished row is measured again. The agent itself has no
// rights.
func TestRunSurvivesItsTRexServer(t *testing.T) {
	dir := needsTRex(t)
	if !isolated(t) {
		return
	}
	l := newPodLab(t)
	path := filepath.Join(l.secret("manifests", map[string][]byte{"all.yaml": []byte(asTRex(podManifests))}), "all.yaml")
	config := bundleConfig(t, "", path)
	device := dut.NewNetns(config.Bed.Spec.Ports)
	if err := device.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer device.Restore(t.Context())

	beside := startPodServer(t, server.Config{
		Dir: dir, RPCPort: standalone.TrexRPCPort, Software: &server.Software{RingFrames: config.Bed.Spec.Engine.TRex.Software.Ring()},
		Ports: []server.Port{{Name: "p1", Interface: "p1"}, {Name: "p2", Interface: "p2"}},
	})
	ports, errs := plan.Ports(&config.Bed)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	owns := agent.Config{Node: "lab-1", TRex: &agent.TRexConfig{Endpoint: beside.Endpoint(), TimedFramesPerSecond: 500}}
	for _, p := range ports {
		port := agent.PortConfig{Name: p.Name, Interface: p.Name, SpeedBitsPerSecond: p.BitsPerSecond}
		for _, a := range p.HostAddresses(&config.Profile) {
			port.Addresses = append(port.Addresses, a.String())
		}
		owns.Ports = append(owns.Ports, port)
	}
	address := testserver.FreeAddress(t)
	owner := startWith(t, "-all", "agent", "--config", l.json("agent.json", owns), "--tls", l.secret("tls-agent", l.pki.Agents[0].Data()),
		"--listen", address, "--controller", pki.RunnerName(podUID))
	config.Agents = []runner.AgentEndpoint{{Name: pki.AgentName(podUID, 0), Address: address, Ports: []string{"p1", "p2"}}}
	run, client := l.runner(config)
	first := await(t, run, client, "a trial of the second row", func(s runner.State) bool {
		return len(s.Rows) >= 1 && strings.Contains(s.Progress.Trial, " for 1.5s")
	})
	beside.restart()

	state := await(t, run, client, "the end", isDone)
	if !state.Outcome.Measured() || len(state.Rows) != 6 {
		t.Fatalf("outcome %s, %d rows: %s\nrunner:\n%s\nagent:\n%s", state.Outcome, len(state.Rows), state.Message, &run.stderr, &owner.stderr)
	}
	for i, row := range state.Rows {
		if row.Frames.Sent == 0 || row.Frames.Received+row.Frames.Lost != row.Frames.Sent || row.Latency == nil {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if !slices.EqualFunc(first.Rows, state.Rows[:len(first.Rows)], func(a, b v1alpha1.ResultRow) bool {
		return a.ElapsedMilliseconds == b.ElapsedMilliseconds && a.Latency.AvgNs == b.Latency.AvgNs
	}) {
		t.Error("a finished row was measured again")
	}
	if h := state.Environment.Hosts; len(h) != 1 || h[0].Name != "lab-1" {
		t.Errorf("hosts %+v", h)
	}
	terminate(t, run)
	run.wants(exit.Passed, "", "outcome="+string(state.Outcome))
	terminate(t, owner)
	owner.wants(exit.Passed, "", "interfaces given back")
	if t.Failed() {
		t.Logf("runner:\n%s\nagent:\n%s", &run.stderr, &owner.stderr)
	}
}
