//go:build !standalone

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/fakeastf"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

// A run of hosts on a TRex server in a traffic pod survives the death of the server and of the runner. The server is a fake. Nothing
// of the run is left there.
func TestRunOfHostsSurvivesItsTRexServer(t *testing.T) {
	sendsNoFrames(t)
	f, err := fakeastf.Serve("tcp://127.0.0.1:0", fakeastf.Behavior{BitsPerSecond: 80e6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Down)
	l := newPodLab(t)
	file := filepath.Join(t.TempDir(), "benchmark.yaml")
	changed := changedSample(t, "trex-hosts", "connections: 20000", "connections: 2000", "maximumRate: 50000", "maximumRate: 1000", "size: 1000000000", "size: 30000000")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	config := bundleConfig(t, "", file)
	ports, errs := plan.Ports(&config.Bed)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	owns := agent.Config{Node: "lab-1", TRex: &agent.TRexConfig{Endpoint: f.Endpoint}, Hosts: plan.HostPorts(ports, &config.Profile)}
	for _, p := range ports {
		port := agent.PortConfig{Name: p.Name, Interface: p.Name, SpeedBitsPerSecond: p.BitsPerSecond}
		for _, a := range p.Addresses {
			port.Addresses = append(port.Addresses, a.String())
		}
		owns.Ports = append(owns.Ports, port)
	}
	address := testserver.FreeAddress(t)
	owner := start(t, "agent", "--config", l.json("agent.json", owns), "--tls", l.secret("tls-agent", l.pki.Agents[0].Data()), "--listen", address, "--controller", pki.RunnerName(podUID))
	config.Agents = []runner.AgentEndpoint{{Name: pki.AgentName(podUID, 0), Address: address, Ports: []string{"p1", "p2"}}}
	running := func(runner.State) bool { return f.Running() }
	run, client := l.runner(config)
	await(t, run, client, "a trial", running)
	kill(t, run)
	run, client = l.runner(config)
	await(t, run, client, "a trial of the next runner", running)
	f.Down()
	if err := f.Up(); err != nil {
		t.Fatal(err)
	}
	state := await(t, run, client, "the end", isDone)
	if !state.Outcome.Measured() || len(state.Rows) != 2 {
		t.Fatalf("outcome %s, %d rows: %s\nrunner:\n%s\nagent:\n%s", state.Outcome, len(state.Rows), state.Message, &run.stderr, &owner.stderr)
	}
	i := slices.IndexFunc(state.Rows, func(r v1alpha1.ResultRow) bool { return r.Connections != nil })
	j := slices.IndexFunc(state.Rows, func(r v1alpha1.ResultRow) bool { return r.Bulk != nil })
	if s := state.Rows[i].Connections; s.SetUpRate == nil || *s.SetUpRate != 1000 || s.Verified != 2000 {
		t.Errorf("%+v", s)
	}
	if s := state.Rows[j].Bulk; s.ReceivedBytes != 30_000_000 || s.GoodputBitsPerSecond < 79_900_000 || s.GoodputBitsPerSecond > 80_100_000 {
		t.Errorf("%+v", s)
	}
	terminate(t, run)
	run.wants(exit.Passed, "", "outcome="+string(state.Outcome))
	terminate(t, owner)
	owner.wants(exit.Passed, "", "interfaces given back")
	if _, problems := f.Calls(); len(problems) > 0 || len(f.Left()) > 0 {
		t.Errorf("wrong requests %q, left %q", problems, f.Left())
	}
	if t.Failed() {
		t.Logf("runner:\n%s\nagent:\n%s", &run.stderr, &owner.stderr)
	}
}
