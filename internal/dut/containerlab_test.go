package dut

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
)

const frrTopology = `
name: frr
topology:
  nodes:
    dut: {kind: linux, image: frr}
  links:
  - endpoints: ["dut:eth1", "host:nd-p1"]
  - type: host
    host-interface: nd-p2
    endpoint: {node: dut, interface: eth2}
  - endpoints: ["dut:eth3", "other:eth1"]
  - type: veth
    endpoints: [{node: dut, interface: eth4}, {node: other, interface: eth2}]
`

// fake returns a Containerlab whose program writes down how it was called and then runs
// script. calls returns what it wrote.
func fake(t *testing.T, script string) (c *Containerlab, calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// Laid out like a mounted Secret.
	write("real.yaml", frrTopology, 0o644)
	secret := filepath.Join(dir, "secret")
	if err := errors.Join(os.MkdirAll(filepath.Join(secret, "..data"), 0o755), os.Symlink("../real.yaml", filepath.Join(secret, "frr.clab.yaml")), os.WriteFile(filepath.Join(secret, "frr.conf"), []byte("hostname dut"), 0o600)); err != nil {
		t.Fatal(err)
	}
	binary := write("containerlab", "#!/bin/sh\necho \"$PWD $CLAB_VERSION_CHECK $*\" >> "+log+"\n"+script, 0o755)
	c = &Containerlab{Binary: binary, Topology: filepath.Join(secret, "frr.clab.yaml"), Node: "dut", Dir: filepath.Join(dir, "labs")}
	return c, func() []string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), dir, "")), "\n")
	}
}

func TestContainerlabUp(t *testing.T) {
	newTester(t)
	c, calls := fake(t, `
state=$PWD/state
case $1 in
deploy)
  cat frr.conf > /dev/null || exit 1
  ip link add nd-p1 type veth peer name q1 && ip link add nd-p2 type veth peer name q2
  for i in nd-p1 nd-p2 q1 q2; do ip link set $i up; done ;;
inspect)
  # It takes three looks until the container is healthy.
  echo x >> $state
  case $(wc -l < $state) in
  1) echo '{}' ;;
  2) echo '{"frr":[{"name":"clab-frr-dut","state":"running","status":"health: starting"}]}' ;;
  *) echo '{"frr":[{"name":"clab-frr-dut","state":"running","status":"healthy"}]}' ;;
  esac ;;
esac`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/labs/frr disable deploy --reconfigure --topo /labs/frr/frr.clab.yaml",
		"/labs/frr disable inspect --format json --name frr",
		"/labs/frr disable inspect --format json --name frr",
		"/labs/frr disable inspect --format json --name frr",
	}
	if got := calls(); !slices.Equal(got, want) {
		t.Errorf("called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestContainerlabDown(t *testing.T) {
	newTester(t)
	t.Setenv("DOCKER_HOST", "unix:///absent/docker.sock")
	// What a deployment that died half way has left on the host.
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "nd-p2"}, PeerName: "clab-1234"}); err != nil {
		t.Fatal(err)
	}
	c, calls := fake(t, `[ $1 = inspect ] && echo '{}'; exit 0`)
	for range 2 {
		if err := c.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"nd-p2", "clab-1234"} {
		if _, err := netlink.LinkByName(name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "frr")); !os.IsNotExist(err) {
		t.Errorf("the copy of the topology is left: %v", err)
	}
	if got := calls()[0]; got != "/labs/frr disable destroy --cleanup --topo /labs/frr/frr.clab.yaml" {
		t.Errorf("called %s", got)
	}
}

// fakeDocker knows one network; it refuses to remove one that is in use.
func fakeDocker(t *testing.T, labels string, inUse bool) (removed *bool) {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", "unix://"+l.Addr().String())
	removed = new(bool)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /networks/lab-net", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"Labels": ` + labels + `}`)) })
	mux.HandleFunc("DELETE /networks/lab-net", func(w http.ResponseWriter, _ *http.Request) {
		if inUse {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		*removed = true
		w.WriteHeader(http.StatusNoContent)
	})
	server := &http.Server{Handler: mux}
	t.Cleanup(func() { server.Close() })
	go server.Serve(l)
	return removed
}

func TestManagementNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		network, labels string
		inUse, removed  bool
	}{
		"made by containerlab": {"lab-net", `{"containerlab": ""}`, false, true},
		"used by others":       {"lab-net", `{"containerlab": ""}`, true, false},
		"somebody else's":      {"lab-net", `null`, false, false},
		"absent":               {"other", `null`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			removed := fakeDocker(t, c.labels, c.inUse)
			if err := removeManagement(t.Context(), c.network); err != nil {
				t.Fatal(err)
			}
			if *removed != c.removed {
				t.Errorf("removed: %v, want %v", *removed, c.removed)
			}
		})
	}
	t.Setenv("DOCKER_HOST", "unix:///absent/docker.sock")
	if err := removeManagement(t.Context(), "x"); err != nil {
		t.Errorf("without Docker: %v", err)
	}
}

func TestContainerlabFails(t *testing.T) {
	newTester(t)
	t.Setenv("DOCKER_HOST", "unix:///absent/docker.sock")
	links := "ip link add nd-p1 type veth peer name q1; ip link add nd-p2 type veth peer name q2; for i in nd-p1 nd-p2 q1 q2; do ip link set $i up; done"
	for name, c := range map[string]struct {
		script  string
		node    string
		down    bool
		timeout time.Duration
		want    []string
		is      error
	}{
		"deploy says why": {
			script: "for i in $(seq 20); do echo line $i; done; echo 'no such image: frr' >&2; exit 3",
			want:   []string{"containerlab deploy: exit status 3", "line 14", "no such image: frr"},
		},
		"unknown node":        {script: "exit 1", node: "nobody", want: []string{"topology frr has no node nobody, only dut"}},
		"links do not appear": {script: "exit 0", timeout: time.Second, want: []string{"there is no interface nd-p1"}, is: context.DeadlineExceeded},
		"container exits": {
			script: "case $1 in deploy) " + links + ";; *) echo '{\"frr\":[{\"name\":\"clab-frr-dut\",\"state\":\"exited\"}]}';; esac",
			want:   []string{"clab-frr-dut does not run", "exited"},
		},
		"hangs": {
			script: "trap 'echo stopped; exit 1' TERM; echo begun; while :; do sleep 0.01; done", timeout: 3 * time.Second,
			want: []string{"begun", "stopped"}, is: context.DeadlineExceeded,
		},
		"destroy leaves something": {
			script: "[ $1 = inspect ] && echo '{\"frr\":[{\"name\":\"clab-frr-dut\",\"state\":\"running\"}]}'; exit 0", down: true,
			want: []string{"clab-frr-dut is still running"},
		},
		"garbage": {script: "echo moo", down: true, want: []string{"inspect", "moo"}},
	} {
		t.Run(name, func(t *testing.T) {
			newTester(t)
			lab, _ := fake(t, c.script)
			if c.node != "" {
				lab.Node = c.node
			}
			if c.timeout == 0 {
				c.timeout = 30 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			act := lab.Prepare
			if c.down {
				act = lab.Restore
			}
			err := act(ctx)
			if err == nil {
				t.Fatal("it succeeded")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "line 3\n") {
				t.Errorf("more than the last lines: %v", err)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
		})
	}
}

func TestContainerNames(t *testing.T) {
	for prefix, want := range map[string]string{"": "clab-frr-dut", "prefix: ''\n": "dut", "prefix: __lab-name\n": "frr-dut", "prefix: x\n": "x-frr-dut"} {
		path := filepath.Join(t.TempDir(), "t.yaml")
		if err := os.WriteFile(path, []byte(prefix+frrTopology), 0o600); err != nil {
			t.Fatal(err)
		}
		topology, err := readTopology(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := topology.container("dut"); got != want || err != nil {
			t.Errorf("%q: %s, %v; want %s", prefix, got, err, want)
		}
		if got := topology.hostEnds(); !slices.Equal(got, []string{"nd-p1", "nd-p2"}) {
			t.Errorf("host ends %v", got)
		}
	}
}

func TestTopologyNamesStayInTheirDirectory(t *testing.T) {
	for _, name := range []string{"", "../x", ".", "..", "a/b"} {
		path := filepath.Join(t.TempDir(), "t.yaml")
		if err := os.WriteFile(path, []byte("name: '"+name+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readTopology(path); err == nil {
			t.Errorf("name %q was taken", name)
		}
	}
}

// The files that are made for a topology are written next to its copy, which only root can
// read; one that the topology has stays.
func TestContainerlabMakesFiles(t *testing.T) {
	c, _ := fake(t, "")
	topology, path, err := c.files()
	if err != nil {
		t.Fatal(err)
	}
	c.Files = func(text string, interfaces map[string]string) (map[string][]byte, error) {
		if text != frrTopology || len(interfaces) != 2 || interfaces["nd-p1"] != "eth1" || interfaces["nd-p2"] != "eth2" {
			t.Errorf("made of %q and %v", text, interfaces)
		}
		return map[string][]byte{"device.frr.conf": []byte("made"), "frr.conf": []byte("made")}, nil
	}
	if err := c.makeFiles(topology, path); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"device.frr.conf": "made", "frr.conf": "hostname dut"} {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(path), name)); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v; want %q", name, text, err, want)
		}
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the copy is in a directory with mode %v, %v", info.Mode(), err)
	}
}
