package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic/trex"
)

// dirVariable names the environment variable that says where a real TRex server is.
const dirVariable = "NODROP_TREX_DIR"

// cableVariable names two network cards that are bound to vfio-pci, by their PCI addresses,
// separated by a comma, and joined by a cable. The tests with a real server then run on them
// in place of packet sockets. hack/vm/trex sets it in an emulated machine.
const cableVariable = "NODROP_TREX_CABLE"

// patience is far above what anything here takes. Emulated cards take minutes.
var patience = func() time.Duration {
	if os.Getenv(cableVariable) != "" {
		return 5 * time.Minute
	}
	return 30 * time.Second
}()

// cardsMiB is the memory in huge pages that a server on cards gets, in MiB.
const cardsMiB = 512

// joined are the ports p1 and p2 of a real server, joined by a cable: two cards, or
// interfaces with this MTU.
func joined(t *testing.T, dir string, mtu int) Config {
	t.Helper()
	c := Config{Dir: dir, Ports: []Port{{Name: "p1"}, {Name: "p2"}}, RPCPort: 4501}
	cards := os.Getenv(cableVariable)
	if cards == "" {
		cable(t, "p1", "p2", mtu)
		c.Software = &Software{RingFrames: 512}
		c.Ports[0].Interface, c.Ports[1].Interface = "p1", "p2"
		return c
	}
	const resource = "lab.example/cards"
	t.Setenv(Variable(resource), cards)
	c.Ports[0].Resource, c.Ports[1].Resource = resource, resource
	c.Shared, c.HugePagesMiB = true, cardsMiB
	return c
}

// realDir is the directory of a real server.
func realDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(dirVariable)
	if dir == "" {
		t.Skip("skipped: " + dirVariable + " does not say where a TRex server is")
	}
	return dir
}

// hugePageMiB is the size of the huge pages of hack/vm/trex.
const hugePageMiB = 2

// freeHugePages returns the number of huge pages of the usual size that are free on this
// machine.
func freeHugePages(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "HugePages_Free:"); ok {
			free, err := strconv.Atoi(strings.TrimSpace(count))
			if err != nil {
				t.Fatal(err)
			}
			return free
		}
	}
	return 0
}

// TestRealServer starts a real server on two packet sockets or cards, twice in a
// row, and finds nothing of it afterwards.
func TestRealServer(t *testing.T) {
	dir := realDir(t)
	if !alone(t) {
		return
	}
	c := joined(t, dir, 1500)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	state := t.TempDir()
	free := freeHugePages(t)
	for range 2 {
		s, err := Start(ctx, c, Options{StateDir: state, Output: func(line string) { t.Log(line) }})
		if err != nil {
			t.Fatal(err)
		}
		if taken := free - freeHugePages(t); taken > c.HugePagesMiB/hugePageMiB {
			t.Errorf("the server took %d huge pages of %d MiB, want no more than the %d MiB that it may take", taken, hugePageMiB, c.HugePagesMiB)
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
		if left := freeHugePages(t); left != free {
			t.Errorf("%d huge pages were free, and %d are now", free, left)
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
	s, err := Start(bounded(t), joined(t, dir, 1500), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Which thread runs first afterwards is chance, and so is the watchdog's view.
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
	c := joined(t, dir, 1500)
	c.Ports = c.Ports[:1]
	s, err := Start(bounded(t), c, Options{})
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
