package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

const configuredBed = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: leaf}
spec:
  device:
    physical:
      vendor: FRRouting
      model: FRR
      management:
        ssh: {platform: frr, address: "ADDRESS"}
        secretName: leaf
        configuration: {configMapRef: {name: leaf, key: base.conf}}
    variants:
    - {name: open}
    - {name: closed, physical: {configuration: {configMapRef: {name: leaf, key: closed.conf}}}}
    - {name: routed, physical: {configuration: {configMapRef: {name: leaf, key: routed.conf}}}}
    - {name: wrong, physical: {configuration: {configMapRef: {name: leaf, key: wrong.conf}}}}
  hooks: {beforeLease: [{name: load, image: "lab-tools:1"}]}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: here, attachment: {hostDevice: {interface: nd-e1}}, speed: 100M, addresses: [198.18.7.2/24], gateways: [198.18.7.1]}
  - {name: p2, node: here, attachment: {hostDevice: {interface: nd-e2}}, speed: 100M, addresses: [198.18.8.2/24], gateways: [198.18.8.1]}
---
` + pairsProfile + "---\n"

// TestRunConfigures measures a router that nodrop run configures by SSH from the network of the machine, while
// its interfaces are in the namespace of the run.
func TestRunConfigures(t *testing.T) {
	needsRoot(t)
	t.Parallel() // It compares no rates.
	namespacetest.Enter(t)
	if lo, err := netlink.LinkByName("lo"); err != nil || netlink.LinkSetUp(lo) != nil {
		t.Fatalf("the loopback is not up: %v", err)
	}
	r := sshrouter.Start(t)
	for _, port := range []string{"e1", "e2"} {
		r.Cable("nd-"+port, port)
	}
	r.Enter("configure terminal", "interface e1", "ip address 198.18.7.1/24", "interface e2", "ip address 198.18.8.1/24")
	base := r.Running()
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "leaf", "namespace": "nodrop-lab"},
		"data": map[string]string{
			"base.conf": base, "closed.conf": strings.Replace(base, " ip address 198.18.8.1/24\n", "", 1),
			"routed.conf": base + "ip route 198.18.101.0/24 198.18.1.9\n", "wrong.conf": base + "ip route 198.18.300.0/24 198.18.1.9\n",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	bed := write("bed.yaml", strings.Replace(configuredBed, "ADDRESS", r.Address, 1)+string(config))
	secrets := filepath.Join(folder, "secrets")
	state := filepath.Join(folder, "state")
	write("secrets/leaf/user", sshrouter.User+"\n")
	write("secrets/leaf/password", sshrouter.Password+"\n")
	run := func(benchmark, variants string) *process {
		text := strings.NewReplacer("testBedName: switch", "testBedName: leaf", "  settleTime", "  variants: ["+variants+"]\n  settleTime").Replace(benchmark)
		return start(t, "run", "-f", bed, "-f", write("benchmark.yaml", text), "--secrets", secrets, "--state-dir", state, "-o", "json")
	}
	run(shortBenchmark, "open").wants(exit.Use, "", "key hostKeys: Required value")
	write("secrets/leaf/hostKeys", string(r.HostKey))

	p := run(shortBenchmark, "open, closed")
	p.wants(exit.Failed, "", "nodrop: hooks of bed leaf are not run on one machine (1 before the run, 0 after it): prepare the device and clean it up yourself\n")
	var d report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &d); err != nil {
		t.Fatal(err)
	}
	given := d.Environment.Configurations()
	if len(d.Rows) != 2 || d.Rows[0].Frames.Received == 0 || d.Rows[1].Frames.Received != 0 {
		t.Errorf("rows %+v", d.Rows)
	}
	if !slices.Contains(d.Notes, "the hooks of bed leaf did not run: the device was as people had left it") {
		t.Errorf("notes %q", d.Notes)
	}
	if !strings.HasPrefix(given["open"].Software, "FRRouting ") {
		t.Errorf("software %q", given["open"].Software)
	}
	if len(given) != 2 || given["open"].Commands != 0 || given["closed"].Commands == 0 || given["closed"].Before != given["open"].Digest {
		t.Errorf("configurations %+v", given)
	}
	if strings.Contains(p.stdout.String(), r.Address) || strings.Contains(p.stdout.String()+p.stderr.String(), sshrouter.Password) || strings.Contains(p.stdout.String(), "bgp ebgp-requires-policy") {
		t.Error("the result has the password, the address or the configuration")
	}
	unchanged := func(after string) {
		t.Helper()
		if now := r.Running(); now != base {
			t.Errorf("after %s the router has\n%s", after, now)
		}
	}
	unchanged("a run")

	p = run(shortBenchmark, "open, wrong")
	p.wants(exit.Error, "", "")
	if err := json.Unmarshal([]byte(p.stdout.String()), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 1 || !strings.Contains(d.Message, `the device rejected "ip route 198.18.300.0/24 198.18.1.9"`) || !strings.Contains(d.Message, "1 finished row is kept") {
		t.Errorf("%d rows, and the message %q", len(d.Rows), d.Message)
	}
	unchanged("a line that was rejected")

	p = run(longBenchmark, "routed")
	p.says("24h")
	if !strings.Contains(r.Running(), "ip route 198.18.101.0/24") {
		t.Error("the router was not configured")
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Aborted, "", "")
	unchanged("an interrupt")
}
