package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// asProgram makes the test binary behave as nodrop, so that tests run the whole
// program, with its exit codes and signals, without building it a second time.
const asProgram = "NODROP_TEST_AS_PROGRAM"

// updateGolden is set to write the files anew that tests compare with.
var updateGolden = flag.Bool("update", false, "write the files anew that tests compare with")

// shared is a directory with what several tests read; empty while there is none.
var shared string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == server.Binary {
		os.Exit(fakeASTFServer())
	}
	if os.Getenv(asProgram) == "1" {
		if os.Getenv("NODROP_TEST_EMULATED") == "" {
			trials.LearnTime = 2 * time.Second
		}
		main()
		os.Exit(0)
	}
	code := m.Run()
	os.RemoveAll(shared)
	for _, end := range ends.all {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// ends are functions that are called after the last test.
var ends struct {
	sync.Mutex
	all []func() error
}

// whenTestsEnd lets a function be called after the last test.
func whenTestsEnd(end func() error) {
	ends.Lock()
	defer ends.Unlock()
	ends.all = append(ends.all, end)
}

// patience is the maximum time for which a test waits for an expected event. An emulated
// machine needs more.
var patience = func() time.Duration {
	if os.Getenv("NODROP_TEST_EMULATED") != "" {
		return 20 * time.Minute
	}
	return 2 * time.Minute
}()

// pace multiplies the times in which frames are sent. An emulated machine is late for
// short ones.
var pace = func() time.Duration {
	if os.Getenv("NODROP_TEST_EMULATED") != "" {
		return 10
	}
	return 1
}()

// process is a run of nodrop.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr buffer
}

// buffer can be read while a process writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startAs(t, "nodrop", args...)
}

func startAs(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := prepare(t, name, args...)
	p.begin()
	return p
}

func prepare(t *testing.T, name string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self, args...)}
	p.cmd.Args[0] = name
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "XDG_CACHE_HOME="+t.TempDir())
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *process) begin() {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
}

// exit waits for the end of the process and returns its exit code.
func (p *process) exit() int {
	p.t.Helper()
	return p.exitWithin(patience)
}

// exitWithin is exit for a process that may take longer.
func (p *process) exitWithin(most time.Duration) int {
	p.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		var status *exec.ExitError
		if err != nil && !errors.As(err, &status) {
			p.t.Fatal(err)
		}
	case <-time.After(most):
		_ = p.cmd.Process.Kill()
		<-ended
		p.t.Fatalf("%s did not end\nstdout:\n%s\nstderr:\n%s", strings.Join(p.cmd.Args, " "), &p.stdout, &p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// wants checks how the process ended and what it said.
func (p *process) wants(code int, stdout, stderr string) {
	p.t.Helper()
	p.exit()
	p.ended(code, stdout, stderr)
}

// ended checks the exit code and the output of a process that has ended.
func (p *process) ended(code int, stdout, stderr string) {
	p.t.Helper()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
	if !strings.Contains(p.stdout.String(), stdout) {
		p.t.Errorf("stdout lacks %q", stdout)
	}
	if !strings.Contains(p.stderr.String(), stderr) {
		p.t.Errorf("stderr lacks %q", stderr)
	}
	if p.t.Failed() {
		p.t.Logf("%s\nstdout:\n%s\nstderr:\n%s", strings.Join(p.cmd.Args, " "), &p.stdout, &p.stderr)
	}
}

// measures checks that the process ended with all rows measured, and with text in stdout.
// On a busy machine rows with real frames are not conclusive, which is no failure of tests
// that are not about the outcome.
func (p *process) measures(stdout string) {
	p.t.Helper()
	p.exit()
	p.measured(stdout)
}

// measured checks that a process that has ended passed or was inconclusive, and its output.
func (p *process) measured(stdout string) {
	p.t.Helper()
	code := exit.Passed
	if p.cmd.ProcessState.ExitCode() == exit.Inconclusive {
		code = exit.Inconclusive
		p.t.Logf("the run is inconclusive:\n%s", &p.stderr)
	}
	p.ended(code, stdout, "")
}

// says waits until the process wrote a text to stderr.
func (p *process) says(text string) {
	p.t.Helper()
	eventually(p.t, "stderr to say "+text, func() bool { return strings.Contains(p.stderr.String(), text) },
		func() string { return p.stderr.String() })
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool, state func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for %s; it was:\n%s", patience, what, state())
		case <-tick.C:
		}
	}
}
