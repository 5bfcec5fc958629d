package bgp

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/routing"
)

// When BFD goes down so does the session, which says so; it comes back with BFD.
func TestBFDDown(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var config strings.Builder
	must(t, router.Render(&config, router.FRR, router.Config{ASN: 65000, RouterID: netip.MustParseAddr("198.18.0.254"), Sessions: b.sessions, Passwords: true}))
	d, err := router.Start(t.Context(), b.device, router.FRR, config.String())
	must(t, err)
	t.Cleanup(func() { must(t, d.Stop()) })
	s := New(Options{Ports: b.ports, Retry: 50 * time.Millisecond})
	t.Cleanup(func() { must(t, s.Close()) })
	if err := s.Open(within(t), b.sessions); err != nil {
		t.Fatal(err, d.Err())
	}
	four := set("198.18.128.0/24", 8)
	announce(t, s, "p1", four)
	want := routing.Readvertised(65000, 65001, []routing.Routes{four})
	awaitTable(t, s, "p2", want)

	bfdd := processIn(t, b.device, "bfdd")
	must(t, unix.Kill(bfdd, unix.SIGSTOP))
	t.Cleanup(func() { _ = unix.Kill(bfdd, unix.SIGCONT) })
	const cause = "BFD is down: no control packet came from 198.18.2.1 for 3s; the tester sent NOTIFICATION Cease (6), BFD Down (10)"
	awaitState(t, s, "p2", func(s routing.State) bool { return s.Flaps > 0 && s.Cause == cause })
	must(t, unix.Kill(bfdd, unix.SIGCONT))
	for _, name := range []string{"p1", "p2"} {
		awaitState(t, s, name, func(s routing.State) bool { return s.Established })
	}
	awaitTable(t, s, "p2", want)
}

// A session whose device has no BFD does not become established, and reports the reason.
func TestBFDMissing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	without := append([]routing.Session(nil), b.sessions...)
	for i := range without {
		without[i].BFD = nil
	}
	var config strings.Builder
	must(t, router.Render(&config, router.FRR, router.Config{ASN: 65000, RouterID: netip.MustParseAddr("198.18.0.254"), Sessions: without, Passwords: true}))
	d, err := router.Start(t.Context(), b.device, router.FRR, config.String())
	must(t, err)
	t.Cleanup(func() { must(t, d.Stop()) })
	s := New(Options{Ports: b.ports, Retry: 50 * time.Millisecond})
	t.Cleanup(func() { must(t, s.Close()) })
	opened := make(chan error, 1)
	ctx, cancel := context.WithCancel(within(t))
	go func() { opened <- s.Open(ctx, b.sessions[:1]) }()
	state := awaitState(t, s, "p1", func(s routing.State) bool { return strings.HasPrefix(s.Cause, "BFD") })
	if state.Established || state.Cause != "BFD does not come up: no control packet has come from the device" {
		t.Errorf("%+v", state)
	}
	cancel()
	if err := <-opened; err == nil || !strings.HasSuffix(err.Error(), "is down: "+state.Cause) {
		t.Errorf("opening ends with %v", err)
	}
}

// processIn is the process of a name in a network namespace.
func processIn(t *testing.T, ns netns.NsHandle, name string) int {
	t.Helper()
	var want unix.Stat_t
	must(t, unix.Fstat(int(ns), &want))
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	must(t, err)
	for _, file := range names {
		var is unix.Stat_t
		text, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(text)) != name || unix.Stat(filepath.Join(filepath.Dir(file), "ns/net"), &is) != nil || is.Ino != want.Ino {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		must(t, err)
		return pid
	}
	t.Fatalf("no process %s", name)
	return 0
}
