//go:build !standalone

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/measure/runner/service"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

const podUID = "0c5f"

// podLab contains the files and certificates that the operator prepares for the pods of one
// benchmark.
type podLab struct {
	*testing.T
	dir string
	pki pki.Set
}

func newPodLab(t *testing.T) *podLab {
	t.Helper()
	set, err := pki.Issue(podUID, 1, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &podLab{T: t, dir: t.TempDir(), pki: set}
}

// secret writes the files of a mounted Secret and returns their directory.
func (l *podLab) secret(name string, data map[string][]byte) string {
	l.Helper()
	dir := filepath.Join(l.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		l.Fatal(err)
	}
	for file, content := range data {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			l.Fatal(err)
		}
	}
	return dir
}

func (l *podLab) json(name string, v any) string {
	l.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		l.Fatal(err)
	}
	return filepath.Join(l.secret("config-"+name, map[string][]byte{name: text}), name)
}

// asker asks a runner as the operator would: it lets the runner begin with the
// rows that are stored, and keeps the rows of its log.
type asker struct {
	client *service.Client
	stored []v1alpha1.ResultRow
	rows   []v1alpha1.ResultRow
}

// ask returns the state with the stored rows and those of the log.
func (o *asker) ask(ctx context.Context) (runner.State, error) {
	answer, err := o.client.State(ctx, len(o.rows))
	if err == nil && !answer.Begun {
		err = o.client.Begin(ctx, o.stored)
	}
	o.rows = append(o.rows, answer.LogRows...)
	state := answer.State
	state.Rows = slices.Concat(o.stored, o.rows)
	return state, err
}

// runner starts a runner pod's process and an operator that asks it.
func (l *podLab) runner(config runner.Config, more ...string) (*process, *asker) {
	l.Helper()
	address := testserver.FreeAddress(l.T)
	args := []string{
		"runner", "--config", l.json("run.json", config), "--tls", l.secret("tls-runner", l.pki.Runner.Data()),
		"--checkpoint", filepath.Join(l.dir, "checkpoint"), "--listen", address, "--operator", pki.OperatorName(podUID),
	}
	p := start(l.T, append(args, more...)...)
	client, err := service.NewClient(address, pki.RunnerName(podUID), l.pki.Operator)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(client.Close)
	return p, &asker{client: client}
}

// await asks the runner until its state is as wanted.
func await(t *testing.T, p *process, client *asker, what string, wanted func(runner.State) bool) runner.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	for {
		state, err := client.ask(ctx)
		if err == nil && wanted(state) {
			return state
		}
		if err == nil && state.Done || ctx.Err() != nil {
			t.Fatalf("waiting for %s: %+v, %v\n%s", what, state, err, &p.stderr)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func isDone(s runner.State) bool { return s.Done }

func bundleConfig(t *testing.T, name string, paths ...string) runner.Config {
	t.Helper()
	set, err := manifest.Load(paths, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := set.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return runner.Config{Benchmark: bundle.Benchmark, Profile: bundle.Profile, Bed: bundle.Bed, Model: bundle.Tables[""].Model}
}

func terminate(t *testing.T, p *process) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// kill is the death of a container.
func kill(t *testing.T, p *process) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exit()
}

// awaitText waits until a process has logged something.
func awaitText(t *testing.T, p *process, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.stderr.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the process did not say %q:\n%s", text, &p.stderr)
		}
	}
}

func TestRunnerPodShowsItsResultUntilToldToEnd(t *testing.T) {
	sendsNoFrames(t)
	l := newPodLab(t)
	config := bundleConfig(t, "", "../../config/samples/sim")
	p, client := l.runner(config)
	state := await(t, p, client, "the end", isDone)
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 40 || state.Environment == nil {
		t.Errorf("outcome %s, %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	again := await(t, p, client, "the same state", isDone)
	if again.Message != state.Message || len(again.Rows) != len(state.Rows) {
		t.Errorf("the final state changed: %+v", again)
	}
	terminate(t, p)
	p.wants(exit.Passed, "", "outcome=Measured")

	// Another process finds every row in the checkpoint.
	p, client = l.runner(config)
	state = await(t, p, client, "the end", isDone)
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 40 || state.Progress.TrialsDone != 0 {
		t.Errorf("after a restart: outcome %s, %d rows, %d trials: %s", state.Outcome, len(state.Rows), state.Progress.TrialsDone, state.Message)
	}
	terminate(t, p)
	p.wants(exit.Passed, "", "")
}

func TestRunnerPodSaysThatAgentsAreMissing(t *testing.T) {
	l := newPodLab(t)
	config := bundleConfig(t, "", "../../config/samples/sim")
	ports := []string{"p1", "p2"}
	config.Agents = []runner.AgentEndpoint{{Name: pki.AgentName(podUID, 0), Address: testserver.FreeAddress(t), Ports: ports}}
	config.Bed.Spec.Engine.Sim = nil
	config.Bed.Spec.Ports = []v1alpha1.Port{{Name: ports[0], Speed: "10G"}, {Name: ports[1], Speed: "10G"}}
	p, client := l.runner(config, "--agent-timeout", "300ms")
	client.stored = []v1alpha1.ResultRow{{RowID: v1alpha1.RowID{Test: "throughput", FrameSize: 64}}}
	state := await(t, p, client, "the end", isDone)
	if state.Outcome != v1alpha1.PhaseError || state.Reason != v1alpha1.ReasonAgentLost || !strings.Contains(state.Message, "connection refused") || len(state.Rows) != 1 {
		t.Errorf("%+v", state)
	}
	terminate(t, p)
	p.wants(exit.Passed, "", "AgentLost")
}

func TestRunnerPodToldToEndBefore(t *testing.T) {
	sendsNoFrames(t)
	l := newPodLab(t)
	config := bundleConfig(t, "", "../../config/samples/sim")
	config.Agents = []runner.AgentEndpoint{{Name: pki.AgentName(podUID, 0), Address: testserver.FreeAddress(t), Ports: []string{"p1", "p2"}}}
	config.Bed.Spec.Engine.Sim = nil
	config.Bed.Spec.Ports = []v1alpha1.Port{{Name: "p1", Speed: "10G"}, {Name: "p2", Speed: "10G"}}
	p, client := l.runner(config)
	await(t, p, client, "the beginning", func(s runner.State) bool { return s.Progress.Summary != "" })
	terminate(t, p)
	p.wants(exit.Unfinished, "", "the runner's pod is being stopped")
}

func TestPodsRefuseWhatTheyDoNotUnderstand(t *testing.T) {
	l := newPodLab(t)
	tls := l.secret("tls", l.pki.Runner.Data())
	unknown := filepath.Join(l.secret("unknown", map[string][]byte{"x.json": []byte(`{"surprise": 1}`)}), "x.json")
	for _, command := range [][]string{{"runner", "--operator", "x"}, {"agent", "--controller", "x"}} {
		name := command[0]
		start(t, append(command, "--config", unknown, "--tls", tls)...).wants(exit.Use, "", `unknown field "surprise"`)
		start(t, append(command, "--config", filepath.Join(l.dir, "absent"), "--tls", tls)...).wants(exit.Use, "", "absent: no such file")
		empty := l.json(name+".json", struct{}{})
		start(t, append(command, "--config", empty, "--tls", l.dir)...).wants(exit.Use, "", "ca.crt")
		start(t, name).wants(exit.Use, "", "required flag")
	}
}

func TestAgentPodNamesTheMissingInterface(t *testing.T) {
	sendsNoFrames(t)
	l := newPodLab(t)
	config := l.json("agent.json", map[string]any{"node": "n", "ports": []map[string]any{{"name": "p1", "interface": "nd-absent", "speedBitsPerSecond": 1}}})
	p := start(t, "agent", "--config", config, "--tls", l.secret("tls", l.pki.Agents[0].Data()), "--controller", "x", "--interface-timeout", "50ms")
	p.wants(exit.Use, "", "there is no interface nd-absent")
}

func TestDeviceCommand(t *testing.T) {
	sendsNoFrames(t)
	start(t, "device", "up").wants(exit.Use, "", "required flag")
	absent := filepath.Join(t.TempDir(), "absent.yaml")
	start(t, "device", "down", "--topology", absent, "--node", "dut", "--dir", "").wants(exit.Use, "", "absent.yaml: no such file")
}
