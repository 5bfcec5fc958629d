//go:build !standalone

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// TestTRexServe runs a real server until it is asked to end, and one that is killed.
func TestTRexServe(t *testing.T) {
	dir := os.Getenv(standalone.TrexDirEnv)
	if dir == "" {
		t.Skip("skipped: " + standalone.TrexDirEnv + " does not say where a TRex server is")
	}
	ownNamespace(t)
	state := t.TempDir()
	serve := []string{"trex", "serve", "--state-dir", state, "--config", trexConfig(t, dir)}

	p := start(t, serve...)
	p.says("the TRex server answers")
	start(t, "trex", "alive", "--endpoint", "tcp://127.0.0.1:4501").wants(exit.Passed, "TRex v3.08 at tcp://127.0.0.1:4501", "")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Passed, "", "the TRex server has ended")
	start(t, "trex", "alive").wants(exit.Use, "", "connection refused")
	if left, err := filepath.Glob(filepath.Join(state, "*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}

	p = start(t, serve...)
	p.says("the TRex server answers")
	if err := syscall.Kill(child(t, p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Use, "", "ended by itself (signal: killed); its last lines were:\n")
}

// child is the only process that a process has started.
func child(t *testing.T, p *process) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(string(text))...)
	}
	if len(all) != 1 {
		t.Fatalf("its processes are %v, want one", all)
	}
	pid, err := strconv.Atoi(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestTRexServeSaysWhyItEnded wants the last lines of a server that does not start.
func TestTRexServeSaysWhyItEnded(t *testing.T) {
	ownNamespace(t)
	dir := t.TempDir()
	fake := "#!/bin/sh\necho fake server: no memory\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "_t-rex-64"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	start(t, "trex", "serve", "--config", trexConfig(t, dir)).wants(exit.Use, "", "ended by itself (exit status 3); its last lines were:\nfake server: no memory")
}

// TestTRexServeToldToEndBefore ends it before its server has answered.
func TestTRexServeToldToEndBefore(t *testing.T) {
	ownNamespace(t)
	dir := t.TempDir()
	fake := "#!/bin/sh\necho fake server: silent\nread forever <$0.fifo\n"
	if err := os.WriteFile(filepath.Join(dir, "_t-rex-64"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "_t-rex-64.fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "trex", "serve", "--config", trexConfig(t, dir))
	p.says("trex: fake server: silent")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Passed, "", "")
}

func TestTRexAlive(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // and accepts no connection
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start(t, "trex", "alive", "--endpoint", "tcp://"+l.Addr().String(), "--timeout", "50ms").wants(exit.Use, "", "did not answer within 50ms")
}

func TestTRexInstall(t *testing.T) {
	sendsNoFrames(t)
	dir := t.TempDir()
	for range 2 { // a container that starts again finds what the first has installed
		start(t, "trex", "install", dir).wants(exit.Passed, "installed "+filepath.Join(dir, "nodrop"), "")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "nodrop"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v: not the %d bytes of the program", len(got), err, len(want))
	}
	if i, err := os.Stat(filepath.Join(dir, "nodrop")); err != nil || i.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v: cannot be run by everybody", i, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v is in the directory, %v", all, err)
	}
	start(t, "trex", "install", filepath.Join(dir, "absent")).wants(exit.Use, "", "absent")
}

// ownNamespace makes a network namespace with a cable, for what the test starts.
func ownNamespace(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: needs root, to make network namespaces")
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	v := netlink.NewVeth(netlink.LinkAttrs{Name: "p1", MTU: 1500})
	v.PeerName, v.PeerMTU = "p2", 1500
	if err := netlink.LinkAdd(v); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lo", "p1", "p2"} {
		l, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// trexConfig writes the configuration of a server on p1 and p2.
func trexConfig(t *testing.T, dir string) string {
	t.Helper()
	text, err := json.Marshal(server.Config{
		Dir: dir, RPCPort: 4501, Software: &server.Software{RingFrames: 512},
		Ports: []server.Port{{Name: "p1", Interface: "p1"}, {Name: "p2", Interface: "p2"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trex.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
