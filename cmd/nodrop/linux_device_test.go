package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// linuxDevice is Linux as the device of a bed: it routes between its ports, and nodrop run gives it rules by SSH.
type linuxDevice struct {
	*sshrouter.Linux
	t *testing.T
	// folder has the files of a run.
	folder string
	// ports is their number; port i is cabled to nd-e<i> and has the network 198.18.<i>.0/24.
	ports int
	// bridged reports whether the ports are of one network, without gateways.
	bridged bool
	// routing is the field of the TestBed with this name; it may be empty.
	routing string
	// calibration is the file with the measurement of the ports back to back; empty if there is none.
	calibration string
}

// newLinuxDevice starts a device without rules.
func newLinuxDevice(t *testing.T, ports int) *linuxDevice {
	t.Helper()
	return newLinuxDeviceOf(t, ports, func() *sshrouter.Linux { return sshrouter.StartLinux(t) })
}

// newLinuxDeviceOf connects a device that start starts.
func newLinuxDeviceOf(t *testing.T, ports int, start func() *sshrouter.Linux) *linuxDevice {
	t.Helper()
	needsRoot(t)
	namespacetest.Enter(t)
	if lo, err := netlink.LinkByName("lo"); err != nil || netlink.LinkSetUp(lo) != nil {
		t.Fatalf("the loopback is not up: %v", err)
	}
	l := &linuxDevice{Linux: start(), t: t, folder: t.TempDir(), ports: ports}
	l.connect()
	l.write("secrets/linux/user", sshrouter.User)
	l.write("secrets/linux/password", sshrouter.Password)
	l.write("secrets/linux/hostKeys", string(l.HostKey))
	return l
}

// connect cables all ports to the device.
func (l *linuxDevice) connect() {
	l.t.Helper()
	for i := range l.ports {
		l.Cable(fmt.Sprintf("nd-e%d", i+1), fmt.Sprintf("e%d", i+1))
		l.Run("ip", "address", "add", fmt.Sprintf("198.18.%d.1/24", i+1), "dev", fmt.Sprintf("e%d", i+1))
	}
}

// calibrate measures two ports back to back with a profile, as if the device were taken away, and connects the device
// again. Runs with this profile have the calibration.
func (l *linuxDevice) calibrate(profile, tests string) {
	l.t.Helper()
	for _, port := range []string{"nd-e1", "nd-e2"} {
		link, err := netlink.LinkByName(port)
		l.must(err)
		l.must(netlink.LinkDel(link))
	}
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "nd-e1"}, PeerName: "nd-e2"}
	l.must(netlink.LinkAdd(cable))
	bed := strings.Replace(l.manifests("{backToBack: {joinedBy: Cables}}", profile, tests, ""), "name: linux}", "name: loops}", 1)
	l.calibration = filepath.Join(l.folder, "calibration.json")
	p := start(l.t, "run", "-f", l.write("loops.yaml", strings.Replace(bed, "testBedName: linux", "testBedName: loops", 1)), "--state-dir", filepath.Join(l.folder, "state"), "-o", "json", "--output-file", l.calibration)
	p.measures("")
	l.must(netlink.LinkDel(cable))
	l.connect()
}

func (l *linuxDevice) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// manifests are a bed with the device, a profile of which spec is given, and a benchmark of which the tests are.
func (l *linuxDevice) manifests(device, profile, tests, benchmark string) string {
	var ports strings.Builder
	for i := range l.ports {
		addresses := fmt.Sprintf("addresses: [198.18.%[1]d.2/24], gateways: [198.18.%[1]d.1]", i+1)
		switch {
		case l.bridged:
			addresses = fmt.Sprintf("addresses: [198.18.0.%d/24]", i+2)
		case strings.Contains(device, "backToBack"):
			addresses = fmt.Sprintf("addresses: [198.18.1.%d/24]", i+2)
		}
		fmt.Fprintf(&ports, "  - {name: p%[1]d, node: here, attachment: {hostDevice: {interface: nd-e%[1]d}}, speed: 100M, %[2]s}\n", i+1, addresses)
	}
	calibration := ""
	if l.calibration != "" {
		calibration = "  calibration: {testBedName: loops}\n"
	}
	return fmt.Sprintf(`apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: linux}
spec:
  device: %s
  engine: {kind: xdp}
%s%s  ports:
%s---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: linux}
spec:
%s---
apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: linux}
spec:
  testBedName: linux
  trafficProfileName: linux
%s  settleTime: 100ms
  restTime: 0s
  tests:
%s`, device, calibration, l.routing, ports.String(), profile, benchmark, tests)
}

// write writes a file of a run, and returns its path.
func (l *linuxDevice) write(name, content string) string {
	l.t.Helper()
	path := filepath.Join(l.folder, name)
	l.must(os.MkdirAll(filepath.Dir(path), 0o700))
	l.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

// variant is a configuration of the device, by its name.
type variant struct{ name, rules string }

// measure runs tests in the variants with a profile, and returns the result. Profile is the spec of a
// TrafficProfile, and tests are lines of a Benchmark. What the device had before it has again.
func (l *linuxDevice) measure(profile, tests string, variants ...variant) report.Document {
	l.t.Helper()
	before := l.Running()
	texts := map[string]string{"base": before}
	var names, described []string
	for _, v := range variants {
		texts[v.name] = v.rules
		names = append(names, v.name)
		described = append(described, fmt.Sprintf("{name: %[1]s, physical: {configuration: {configMapRef: {name: linux, key: %[1]s}}}}", v.name))
	}
	config, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "linux", "namespace": "nodrop-lab"}, "data": texts})
	l.must(err)
	device := fmt.Sprintf(`
    physical:
      vendor: Debian
      model: Linux
      management:
        ssh: {platform: nftables, address: "%s"}
        secretName: linux
        configuration: {configMapRef: {name: linux, key: base}}
    variants: [%s]`, l.Address, strings.Join(described, ", "))
	bed := l.manifests(device, profile, tests, fmt.Sprintf("  variants: [%s]\n", strings.Join(names, ", "))) + "---\n" + string(config)
	args := []string{"--state-dir", filepath.Join(l.folder, "state"), "-o", "json"}
	if l.calibration != "" {
		args = append(args, "--calibration", l.calibration)
	}
	p := start(l.t, append([]string{"run", "-f", l.write("bed.yaml", bed), "--secrets", filepath.Join(l.folder, "secrets")}, args...)...)
	if code := p.exit(); !slices.Contains([]int{exit.Passed, exit.Failed, exit.Inconclusive}, code) {
		l.t.Fatalf("exit code %d: %s\n%s", code, &p.stderr, &p.stdout)
	}
	var d report.Document
	if folder := os.Getenv("KEEP_RESULTS"); folder != "" {
		l.must(os.WriteFile(filepath.Join(folder, l.t.Name()+".json"), []byte(p.stdout.String()), 0o600))
	}
	l.must(json.Unmarshal([]byte(p.stdout.String()), &d))
	if after := l.Running(); after != before {
		l.t.Errorf("after the run the device has\n%s\nwant\n%s", after, before)
	}
	return d
}

// generated is what nodrop configure generate writes.
func generated(t *testing.T, args ...string) string {
	t.Helper()
	root := newRootCommand("nodrop")
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs(append([]string{"configure", "generate"}, args...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
