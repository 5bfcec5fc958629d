package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic/trex"
)

// dirVariable names the environment variable that says where a real TRex server is.
const dirVariable = "NODROP_TREX_DIR"

// patience is far above what anything here takes.
const patience = 30 * time.Second

// realDir is the directory of a real server.
func realDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(dirVariable)
	if dir == "" {
		t.Skip("skipped: " + dirVariable + " does not say where a TRex server is")
	}
	return dir
}

// TestRealServer starts a real server on two packet sockets, twice in a row, and
// finds nothing of it afterwards.
func TestRealServer(t *testing.T) {
	dir := realDir(t)
	if !alone(t) {
		return
	}
	cable(t, "p1", "p2", 1500)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state := t.TempDir()
	for range 2 {
		s, err := Start(ctx, Config{
			Dir:      dir,
			Ports:    []Port{{Name: "p1", Interface: "p1"}, {Name: "p2", Interface: "p2"}},
			Software: &Software{RingFrames: 512},
			RPCPort:  4501,
		}, Options{StateDir: state, Output: func(line string) { t.Log(line) }})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Version(); got != "v3.08" {
			t.Errorf("the server is %s, want v3.08", got)
		}
		if version, err := Alive(ctx, s.Endpoint()); err != nil || version != s.Version() {
			t.Errorf("Alive(%s) = %q, %v, want %q", s.Endpoint(), version, err, s.Version())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Err(); err != nil {
			t.Errorf("after Close, Err() = %v", err)
		}
		if left, err := filepath.Glob(filepath.Join(state, "*")); err != nil || len(left) > 0 {
			t.Errorf("%v are left, %v", left, err)
		}
		if _, err := Alive(ctx, s.Endpoint()); err == nil {
			t.Error("something still answers")
		}
	}
}

// TestPausedServer takes the processor from a server on packet sockets, several times
// and for longer than its watchdog tolerates, as happens where processors are shared.
func TestPausedServer(t *testing.T) {
	dir := realDir(t)
	if !alone(t) {
		return
	}
	cable(t, "p1", "p2", 1500)
	s, err := Start(bounded(t), Config{
		Dir:      dir,
		Ports:    []Port{{Name: "p1", Interface: "p1"}, {Name: "p2", Interface: "p2"}},
		Software: &Software{RingFrames: 512},
		RPCPort:  4501,
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Which thread runs first afterwards is chance, and so is what the watchdog sees.
	for range 5 {
		if err := s.process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		pause := time.NewTimer(1500 * time.Millisecond) // the watchdog tolerates 1 s
		<-pause.C
		if err := s.process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if _, err := Alive(bounded(t), s.Endpoint()); err != nil {
			t.Fatalf("%v; %v", err, s.Err())
		}
	}
	send(t, s.Endpoint(), 64, 1000, 1000)
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOddNumberOfPorts starts a real server with one port: TRex takes ports in pairs.
func TestOddNumberOfPorts(t *testing.T) {
	dir := realDir(t)
	if !alone(t) {
		return
	}
	cable(t, "p1", "p2", 1500)
	s, err := Start(bounded(t), Config{
		Dir:      dir,
		Ports:    []Port{{Name: "p1", Interface: "p1"}},
		Software: &Software{RingFrames: 512},
		RPCPort:  4501,
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := trex.New(bounded(t), trex.Options{Endpoint: s.Endpoint(), Ports: []trex.Port{{Name: "p1", Index: 0}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}
