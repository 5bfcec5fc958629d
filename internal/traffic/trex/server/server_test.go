package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/freeport"
)

// TestLife starts a fake server that answers, and ends it.
func TestLife(t *testing.T) {
	var l lines
	state := t.TempDir()
	s, err := Start(bounded(t), fake(t, fakeAnswers), Options{StateDir: state, Output: l.add})
	if err != nil {
		t.Fatal(err)
	}
	if s.Version() != "fake" {
		t.Errorf("the version is %q", s.Version())
	}
	if version, err := Alive(bounded(t), s.Endpoint()); version != "fake" || err != nil {
		t.Errorf("Alive() = %q, %v", version, err)
	}
	select {
	case <-s.Done():
		t.Fatal("it ended")
	default:
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	<-s.Done()
	if err := s.Err(); err != nil {
		t.Errorf("Err() = %v after Close", err)
	}
	if !slices.Equal(l.all(), []string{"Starting  TRex fake please wait  ..."}) {
		t.Errorf("its output was %q", l.all())
	}
	nothingIn(t, state)
	if _, err := Alive(bounded(t), s.Endpoint()); err == nil {
		t.Error("it answers after its end")
	}
}

// TestDiesAtStart wants the reason that the server wrote, at once.
func TestDiesAtStart(t *testing.T) {
	state := t.TempDir()
	_, err := Start(bounded(t), fake(t, fakeDies), Options{StateDir: state})
	wants(t, err, "ended by itself", "exit status 7", "ERROR in configuration file")
	nothingIn(t, state)
}

// TestNeverAnswers wants Start to end with its context, and the process with it.
func TestNeverAnswers(t *testing.T) {
	var l lines
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller no longer waits")
	state := t.TempDir()
	_, err := Start(ctx, fake(t, fakeSilent), Options{StateDir: state, Output: func(line string) {
		l.add(line)
		cancel(gone)
	}})
	if !errors.Is(err, gone) {
		t.Errorf("%v, want the cause of the context's end", err)
	}
	wants(t, err, "did not answer", "Starting  TRex fake")
	nothingIn(t, state)
}

// TestKilled wants a server that ignores SIGINT to be killed.
func TestKilled(t *testing.T) {
	state := t.TempDir()
	s, err := Start(bounded(t), fake(t, fakeStubborn), Options{StateDir: state, Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("Err() = %v after Close", err)
	}
	nothingIn(t, state)
}

// TestDiesLater wants Done and Err to report a server that ended by itself.
func TestDiesLater(t *testing.T) {
	s, err := Start(bounded(t), fake(t, fakeAnswers), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-bounded(t).Done():
		t.Fatal("Done is not closed")
	}
	wants(t, s.Err(), "ended by itself", "exit status 134", "fake core hangs")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wants(t, s.Err(), "exit status 134")
}

// TestStartErrors wants what is wrong to be named before anything runs.
func TestStartErrors(t *testing.T) {
	t.Run("no program", func(t *testing.T) {
		c := fake(t, fakeAnswers)
		c.Dir = t.TempDir()
		state := t.TempDir()
		_, err := Start(bounded(t), c, Options{StateDir: state})
		wants(t, err, c.Dir, Binary, "Dockerfile.trex")
		nothingIn(t, state)
	})
	t.Run("program of another machine", func(t *testing.T) {
		c := fake(t, fakeAnswers)
		c.Dir = t.TempDir()
		// The head of an ELF file of no machine at all.
		program := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...)
		if err := os.WriteFile(filepath.Join(c.Dir, Binary), program, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Start(bounded(t), c, Options{})
		wants(t, err, filepath.Join(c.Dir, Binary)+" is not a program for this machine", runtime.GOARCH)
	})
	t.Run("another program has the port", func(t *testing.T) {
		c := fake(t, fakeAnswers)
		l, err := net.Listen("tcp", ":"+strconv.Itoa(c.RPCPort-1))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, err = Start(bounded(t), c, Options{})
		wants(t, err, strconv.Itoa(c.RPCPort-1), "in use", "rpcPort")
	})
	t.Run("long directory", func(t *testing.T) {
		state := filepath.Join(t.TempDir(), strings.Repeat("d", 60))
		if err := os.Mkdir(state, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Start(bounded(t), fake(t, fakeAnswers), Options{StateDir: state})
		wants(t, err, state, "at most 107", "at most 52 bytes", "--state-dir")
		nothingIn(t, state)
	})
	t.Run("no interface", func(t *testing.T) {
		c := fake(t, fakeAnswers)
		c.Ports[1].Interface = "nd-nowhere"
		state := t.TempDir()
		_, err := Start(bounded(t), c, Options{StateDir: state})
		wants(t, err, "nd-nowhere", "does not exist")
		nothingIn(t, state)
	})
}

// parentVariable makes this binary start a server and print the id of its process.
const parentVariable = "NODROP_TEST_PARENT"

func parent() int {
	port, err := strconv.Atoi(os.Getenv(parentVariable))
	if err == nil {
		var s *Server
		s, err = Start(context.Background(), Config{Dir: os.Args[1], Ports: loopbacks(), Software: &Software{RingFrames: 512}, RPCPort: port}, Options{StateDir: os.Args[2]})
		if err == nil {
			fmt.Println(s.process.Pid)
			<-s.Done()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestEndsWithItsParent kills the process that started a server, and wants the server
// to end.
func TestEndsWithItsParent(t *testing.T) {
	c := fake(t, fakeStubborn)
	cmd := exec.Command(os.Args[0], c.Dir, t.TempDir())
	cmd.Env = append(os.Environ(), parentVariable+"="+strconv.Itoa(c.RPCPort))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(line)
	if !runs(t, pid) {
		t.Fatalf("the server, process %s, does not run", pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for ctx := bounded(t); runs(t, pid); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("the server, process %s, outlives the process that started it", pid)
		}
	}
}

// runs reports whether a process is there and has not ended.
func runs(t *testing.T, pid string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// fake is a configuration of the fake server.
func fake(t *testing.T, mode string) Config {
	t.Helper()
	return Config{Dir: fakeDir(t, mode), Ports: loopbacks(), Software: &Software{RingFrames: 512}, RPCPort: freeport.Get(t)}
}

// loopbacks are two ports at an interface that is there.
func loopbacks() []Port {
	return []Port{{Name: "p1", Interface: "lo"}, {Name: "p2", Interface: "lo"}}
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// lines collects a server's output.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}
