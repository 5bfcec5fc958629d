package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hostdevice"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

const physicalBed = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: switch}
spec:
  device: {physical: {vendor: acme, model: one}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: here, attachment: {hostDevice: {interface: nd-p1}}, speed: 100M, addresses: [198.18.1.2/24, "2001:2:0:1::2/64"]}
  - {name: p2, node: here, attachment: {hostDevice: {interface: nd-p2}}, speed: 100M, addresses: [198.18.1.3/24, "2001:2:0:1::3/64"]}
---
` + pairsProfile

const pairsProfile = `apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pairs}
spec:
  frameSizes: [128]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`

const shortBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: quick}
spec:
  testBedName: switch
  trafficProfileName: pairs
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: latency
    latency: {loads: [5%], trialDuration: 200ms}
`

// longBenchmark leaves the processors to the programs that a test runs meanwhile.
var longBenchmark = strings.Replace(shortBenchmark, "[5%], trialDuration: 200ms}", "[0.1%], trialDuration: 24h}", 1)

// machine is a network namespace with two interfaces that stand for network cards. They
// are cabled to a switch in another namespace.
type machine struct {
	t     *testing.T
	state string
}

// newMachine is a machine with a switch.
func newMachine(t *testing.T) *machine {
	t.Helper()
	return newMachineAt(t, v1alpha1.Port{Name: "nd-p1"}, v1alpha1.Port{Name: "nd-p2"}, v1alpha1.Port{Name: "nd-p3"})
}

// newMachineAt is a machine whose interfaces are cabled to a switch, or with gateways to a
// router. It moves the test's thread into the namespace of the machine, so that programs
// which the test starts run there.
func newMachineAt(t *testing.T, ports ...v1alpha1.Port) *machine {
	t.Helper()
	needsRoot(t)
	runtime.LockOSThread() // for good: the thread ends with the test
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	m := &machine{t: t, state: filepath.Join(t.TempDir(), "state")}
	t.Cleanup(func() {
		// What a test has failed to put back would keep mounts in its directory.
		if store, err := hostdevice.NewStore(m.state); err == nil {
			_, _, _ = store.Clean()
		}
	})
	device := dut.NewNetns(ports)
	m.must(device.Prepare(context.Background()))
	t.Cleanup(func() { _ = device.Restore(context.Background()) })
	for name, addresses := range map[string][]string{"nd-p1": {"198.18.9.1/24", "198.18.9.2/24", "2001:2:0:9::1/64"}, "nd-p2": {"198.18.8.1/24"}} {
		for _, text := range addresses {
			a, err := netlink.ParseAddr(text)
			m.must(err)
			a.Flags = unix.IFA_F_NODAD
			m.must(netlink.AddrAdd(m.link(name), a))
		}
	}
	p1 := m.link("nd-p1")
	_, remote, err := net.ParseCIDR("198.19.0.0/24")
	m.must(err)
	mac, err := net.ParseMAC("02:00:00:00:00:09")
	m.must(err)
	m.must(netlink.LinkSetMTU(p1, 2000))
	m.must(netlink.SetPromiscOn(p1))
	m.must(netlink.RouteAdd(&netlink.Route{LinkIndex: p1.Attrs().Index, Dst: remote, Gw: net.ParseIP("198.18.9.9")}))
	m.must(netlink.NeighSet(&netlink.Neigh{LinkIndex: p1.Attrs().Index, IP: net.ParseIP("198.18.9.9"), HardwareAddr: mac, State: netlink.NUD_PERMANENT}))
	m.must(os.WriteFile("/proc/sys/net/ipv4/conf/nd-p1/rp_filter", []byte("2"), 0))
	m.must(netlink.LinkSetDown(m.link("nd-p2")))
	m.offload("nd-p2", "tx-generic-segmentation", false)
	return m
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) link(name string) netlink.Link {
	m.t.Helper()
	l, err := netlink.LinkByName(name)
	m.must(err)
	return l
}

func (m *machine) offload(name, feature string, on bool) {
	m.t.Helper()
	tool, err := ethtool.NewEthtool()
	m.must(err)
	defer tool.Close()
	m.must(tool.Change(name, map[string]bool{feature: on}))
}

// interfaces describes the configuration of all interfaces of the machine that a run must
// leave unchanged.
func (m *machine) interfaces() string {
	m.t.Helper()
	links, err := netif.Whole(netlink.LinkList)
	m.must(err)
	tool, err := ethtool.NewEthtool()
	m.must(err)
	defer tool.Close()
	var lines []string
	for _, l := range links {
		a := l.Attrs()
		lines = append(lines, fmt.Sprintf("%s %s %d up %t promiscuous %t queue %d", a.Name, a.HardwareAddr, a.MTU, a.Flags&net.FlagUp != 0, a.RawFlags&unix.IFF_PROMISC != 0, a.TxQLen))
		offloads, err := tool.Features(a.Name)
		m.must(err)
		for name, on := range offloads {
			lines = append(lines, fmt.Sprintf("%s offload %s %t", a.Name, name, on))
		}
		addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		m.must(err)
		for _, address := range addresses {
			if address.IP.IsLinkLocalUnicast() && a.Flags&net.FlagUp != 0 {
				continue // the kernel makes it some time after the interface is up
			}
			lines = append(lines, fmt.Sprintf("%s address %v scope %d broadcast %v secondary %t", a.Name, address.IPNet, address.Scope, address.Broadcast, address.Flags&unix.IFA_F_SECONDARY != 0 && address.IP.To4() != nil))
		}
		filter, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + a.Name + "/rp_filter")
		m.must(err)
		lines = append(lines, a.Name+" rp_filter "+strings.TrimSpace(string(filter)))
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			routes, err := netlink.RouteList(l, family)
			m.must(err)
			for _, r := range routes {
				if r.Dst.IP.IsLinkLocalUnicast() {
					continue
				}
				lines = append(lines, fmt.Sprintf("%s route %v via %v protocol %d metric %d", a.Name, r.Dst, r.Gw, r.Protocol, r.Priority))
			}
			neighbours, err := netlink.NeighList(a.Index, family)
			m.must(err)
			for _, n := range neighbours {
				if n.State&netlink.NUD_PERMANENT != 0 {
					lines = append(lines, fmt.Sprintf("%s neighbour %v %v", a.Name, n.IP, n.HardwareAddr))
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// backAsBefore checks that nothing of the machine has changed, and that no note is left.
func (m *machine) backAsBefore(before string) {
	m.t.Helper()
	if after := m.interfaces(); after != before {
		m.t.Errorf("the interfaces have changed:\n%s", difference(before, after))
	}
	if dirs := m.notes(); len(dirs) > 0 {
		m.t.Errorf("%v are left over", dirs)
	}
}

// difference lists lines of one text that the other does not have.
func difference(before, after string) string {
	var out []string
	for _, side := range []struct{ sign, one, other string }{{"-", before, after}, {"+", after, before}} {
		others := strings.Split(side.other, "\n")
		for _, line := range strings.Split(side.one, "\n") {
			if !slices.Contains(others, line) {
				out = append(out, side.sign+" "+line)
			}
		}
	}
	return strings.Join(out, "\n")
}

// notes are the directories of runs.
func (m *machine) notes() []string {
	m.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(m.state, "[0-9]*"))
	m.must(err)
	return dirs
}

// run starts nodrop run on the machine.
func (m *machine) run(benchmark, rest string, flags ...string) *process {
	m.t.Helper()
	p := m.prepare(benchmark, rest, flags...)
	p.begin()
	return p
}

// prepare is a nodrop run on the machine that is not started yet.
func (m *machine) prepare(benchmark, rest string, flags ...string) *process {
	m.t.Helper()
	return prepare(m.t, "nodrop", append([]string{"run", "--state-dir", m.state, "-f", manifests(m.t, benchmark, rest)}, flags...)...)
}

// has reports whether the machine has an interface.
func (m *machine) has(name string) bool {
	_, err := netlink.LinkByName(name)
	return err == nil
}

func TestRunOnInterfacesOfTheMachine(t *testing.T) {
	for name, flags := range map[string][]string{"moved": nil, "in place": {"--in-place"}} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			before := m.interfaces()
			p := m.run(shortBenchmark, physicalBed, append(flags, "-o", "json")...)
			p.measures("")
			if text := p.stderr.String(); strings.Contains(text, "cleaning up") {
				t.Errorf("%s", text)
			}
			m.backAsBefore(before)
			var document report.Document
			m.must(json.Unmarshal([]byte(p.stdout.String()), &document))
			measured(t, &document, 1)
			ports := document.Environment.Ports
			if document.Environment.Device != "acme one" || len(ports) != 2 || ports[0].Interface != "nd-p1" || ports[0].Driver != "veth" || ports[0].MAC != m.link("nd-p1").Attrs().HardwareAddr.String() {
				t.Errorf("device %q, ports %+v", document.Environment.Device, ports)
			}
			// The ports are virtual, and the bed names no calibration.
			if row := document.Rows[0]; row.Validity == v1alpha1.ValidityValid {
				t.Errorf("the row is %s: %s", row.Validity, row.Message)
			}
		})
	}
}

// A router answers for its addresses on the interfaces, and forwards between them.
func TestRunRouterOnInterfacesOfTheMachine(t *testing.T) {
	routed := func(name, network string) v1alpha1.Port {
		return v1alpha1.Port{Name: name, Addresses: []string{network + ".2/24"}, Gateways: []string{network + ".1"}}
	}
	m := newMachineAt(t, routed("nd-p1", "198.18.1"), routed("nd-p2", "198.18.2"))
	before := m.interfaces()
	bed := strings.NewReplacer(`[198.18.1.2/24, "2001:2:0:1::2/64"]`, "[198.18.1.2/24], gateways: [198.18.1.1]",
		`[198.18.1.3/24, "2001:2:0:1::3/64"]`, "[198.18.2.2/24], gateways: [198.18.2.1]").Replace(physicalBed)
	p := m.run(shortBenchmark, bed, "-o", "json")
	p.measures("")
	m.backAsBefore(before)
	var document report.Document
	m.must(json.Unmarshal([]byte(p.stdout.String()), &document))
	measured(t, &document, 1)
}

func TestRunPutsInterfacesBackWhenItIsInterrupted(t *testing.T) {
	t.Parallel() // It compares no rates.
	for name, flags := range map[string][]string{"moved": nil, "in place": {"--in-place"}} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && len(flags) > 0 {
				t.Skip("it is killed in place by another test: make test-long")
			}
			m := newMachine(t)
			before := m.interfaces()
			p := m.run(longBenchmark, physicalBed, flags...)
			p.says("latency 128 B: 0.1% for 24h0m0s")
			if moved := !m.has("nd-p1"); moved != (len(flags) == 0) {
				t.Errorf("moved: %t", moved)
			}
			m.must(p.cmd.Process.Signal(syscall.SIGTERM))
			p.wants(exit.Aborted, "Benchmark default/quick: Aborted", "stopping")
			m.backAsBefore(before)
		})
	}
}

// An interruption while the engine starts ends the run when all is back.
func TestRunPutsInterfacesBackWhenItIsInterruptedEarly(t *testing.T) {
	t.Parallel() // It compares no rates.
	signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT}
	if signal.Ignored(syscall.SIGHUP) {
		signals[0] = syscall.SIGTERM // as under nohup, where a run does not end by it
	}
	if testing.Short() {
		signals = signals[:1]
	}
	for _, sent := range signals {
		m := newMachine(t)
		before := m.interfaces()
		p := m.run(longBenchmark, physicalBed)
		m.eventually("the first interface to leave", func() bool { return !m.has("nd-p1") })
		m.must(p.cmd.Process.Signal(sent))
		p.wants(exit.Aborted, "Benchmark default/quick: Aborted", "")
		m.backAsBefore(before)
	}
}

func TestRunPutsInterfacesBackWhenItFails(t *testing.T) {
	t.Parallel() // It compares no rates.
	m := newMachine(t)
	before := m.interfaces()
	// The engine finds the error when the interfaces are its own already.
	p := m.run(shortBenchmark, strings.Replace(physicalBed, "frameSizes: [128]", "frameSizes: [9216]", 1))
	if p.exit() == exit.Passed {
		t.Errorf("frames above the MTU passed:\n%s", &p.stdout)
	}
	m.backAsBefore(before)
}

// Joined cables calibrate the interfaces of the bed, and not a pair of veths.
func TestCalibrateInterfacesOfTheMachine(t *testing.T) {
	longtest.Skip(t, "TestCalibrateAndRun, and TestRunOnInterfacesOfTheMachine")
	m := newMachine(t)
	before := m.interfaces()
	cables := strings.NewReplacer("{name: switch}", "{name: loops}", "{physical: {vendor: acme, model: one}}", "{backToBack: {joinedBy: Cables}}").Replace(physicalBed)
	calibrate := strings.NewReplacer("testBedName: switch", "testBedName: loops", "  - name: latency\n", `  - name: rate
    throughput: {resolution: 5%, minLoad: 1%, maxLoad: 10%, trialDuration: 200ms, searchTrialDuration: 200ms}
  - name: latency
`).Replace(shortBenchmark)
	file := filepath.Join(t.TempDir(), "calibration.json")
	m.run(calibrate, cables, "-o", "json", "--output-file", file).measures("")
	m.backAsBefore(before)

	p := m.run(shortBenchmark, strings.Replace(physicalBed, "  engine:", "  calibration: {testBedName: loops}\n  engine:", 1), "--calibration", file)
	p.measures("joined by the bed's cables")
	if text := p.stdout.String(); strings.Contains(text, "Uncalibrated") {
		t.Errorf("%s", text)
	}
	m.backAsBefore(before)

	m.run(calibrate, strings.ReplaceAll(cables, "nd-p", "no-p")).wants(exit.Use, "", "name one of nd-p1, nd-p2, nd-p3\nhint: joinedBy: Loops")
}
