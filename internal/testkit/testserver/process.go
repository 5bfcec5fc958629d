package testserver

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// patience bounds the wait for a server's start, and for an answer of it.
const patience = 60 * time.Second

// Binary is the path of a program in the cache. Without it, it skips the test, and fails it
// in CI. What it is and the script that builds it are for a person.
func Binary(t testing.TB, name, what, script string) string {
	t.Helper()
	return Cached(t, filepath.Join("tools", name), what, script)
}

// Cached is the path of a file in the cache, for which the same holds.
func Cached(t testing.TB, name, what, script string) string {
	t.Helper()
	cache := os.Getenv("NODROP_CACHE")
	if cache == "" {
		cache = filepath.Join(kubetest.Root(t), ".cache")
	}
	file := filepath.Join(cache, name)
	if _, err := os.Stat(file); err != nil {
		missing(t, what, err, script)
	}
	return file
}

// Installed is the path of a program that a script installs on the machine, for which the same holds.
func Installed(t testing.TB, name, what, script string) string {
	t.Helper()
	file, err := exec.LookPath(name)
	if err != nil {
		missing(t, what, err, script)
	}
	return file
}

// missing skips the test, and fails it in CI.
func missing(t testing.TB, what string, err error, script string) {
	t.Helper()
	fail := t.Skipf
	if os.Getenv("CI") == "true" {
		fail = t.Fatalf
	}
	fail("no %s for this test: %v: build it (NODROP_CACHE=.cache %s)", what, err, script)
}

// Process is a server that is stopped and started again as a test demands.
type Process struct {
	// What the server is, for a person.
	What string
	// Command is the program and its arguments.
	Command []string
	// Env is added to the environment.
	Env []string
	// Health is a URL that answers Status when the server is ready.
	Health string
	Status int

	t       testing.TB
	process *os.Process
	ended   <-chan struct{}
	output  bytes.Buffer
}

// Start runs the server until the test ends.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	p.t = t
	t.Cleanup(p.Stop)
	p.Resume()
}

// Resume starts the server, with what it kept when it was stopped, and waits until it is
// ready.
func (p *Process) Resume() {
	p.t.Helper()
	if err := p.run(); err != nil {
		p.t.Fatalf("starting the %s: %v", p.What, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !p.isReady(ctx) {
		select {
		case <-ctx.Done():
			p.Stop()
			p.t.Fatalf("the %s did not become ready:\n%s", p.What, &p.output)
		case <-p.ended:
			p.t.Fatalf("the %s ended:\n%s", p.What, &p.output)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// run starts the program.
func (p *Process) run() error {
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	ended, err := Launch(cmd)
	if err != nil {
		return err
	}
	p.process, p.ended = cmd.Process, ended
	return nil
}

// Launch starts a program, and returns a channel that is closed when the program has ended. A test that is
// killed leaves no program: the kernel kills it when the thread ends that started it. That thread waits
// for it, so that nothing else ends it.
func Launch(cmd *exec.Cmd) (<-chan struct{}, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // It reports the signal of Stop.
		}
	}()
	return ended, <-started
}

func (p *Process) isReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Health, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == p.Status
}

// PID is the number of the running process.
func (p *Process) PID() int { return p.process.Pid }

// Output returns what a server that was stopped has written to its standard output and error.
func (p *Process) Output() string { return p.output.String() }

// Stop kills the server, as when its machine fails. What it stored is kept.
func (p *Process) Stop() {
	if p.process == nil {
		return
	}
	_ = p.process.Kill()
	<-p.ended
	p.process = nil
}
