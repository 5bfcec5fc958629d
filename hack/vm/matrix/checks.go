package main

import (
	"slices"
	"time"
)

// check is a column of a table.
type check struct {
	name string
	// title in the table.
	title string
	// what it does, for the page.
	what string
	// script runs in the machine, with bash -eu, in the root of the repository. A line that
	// begins with "refused: " makes the cell a refusal, if the script fails.
	script string
	// limit of its time.
	limit time.Duration
}

// kernelChecks run on each kernel, over virtual interfaces.
var kernelChecks = slices.Concat(programChecks, engineChecks, runChecks, tagChecks)

// programChecks load the BPF programs, and use them without further rights.
var programChecks = []check{
	{name: "programs", title: "BPF programs load", limit: 10 * time.Minute,
		what:   "All BPF programs load, and the verifier follows at most 100,000 instructions of each.",
		script: xdpTest("^TestProgramsLoad$")},
	{name: "capabilities", title: "four capabilities", limit: 10 * time.Minute,
		what:   "Ports open, and send and receive, with `NET_ADMIN`, `NET_RAW`, `BPF` and `PERFMON` only, and not without one of them.",
		script: xdpTest("^TestCapabilities$")},
	{name: "modules", title: "without modules", limit: 10 * time.Minute,
		what: "A run needs none of the modules `tcp_diag`, `udp_diag`, `xfrm_user` and `nfnetlink`, which minimal systems lack.",
		script: `for m in tcp_diag udp_diag inet_diag xfrm_user nfnetlink; do
  echo "install $m /bin/false" >> /etc/modprobe.d/hide.conf
  ! modprobe -r $m 2>/dev/null || true
done
` + commandTest("^TestRunOnInterfacesOfTheMachine$/^moved$") + `rm /etc/modprobe.d/hide.conf
`},
}

// xdpTest runs tests of the engine, in the folder of their package.
func xdpTest(run string) string {
	return "cd internal/traffic/xdp && $bin/xdp.test -test.v -test.short -test.timeout 60m -test.run '" + run + "'\ncd $root\n"
}

// commandTest runs tests of the program.
func commandTest(run string) string {
	return "cd cmd/nodrop && $bin/nodrop.test -test.v -test.short -test.timeout 60m -test.run '" + run + "'\ncd $root\n"
}

// engineChecks are the conformance tests of the engine over virtual devices, whose behavior is
// known: a cable, a dropper, a bridge, a router.
var engineChecks = []check{
	{name: "cable", title: "engine: cable", limit: 20 * time.Minute,
		what:   "Exact counts over a veth, exact loss over a dropper of every n-th frame, and the order of frames compared with the definitions of RFC 4737.",
		script: xdpTest("^(TestCounts|TestExactBackToBack|TestExactDropper|TestOrderOfTheExamples|TestFallback)$")},
	{name: "bridge", title: "engine: bridge", limit: 20 * time.Minute,
		what:   "Frames, learning and multicast over a Linux bridge.",
		script: xdpTest("^(TestThroughABridge|TestMulticast)$")},
	{name: "router", title: "engine: router", limit: 20 * time.Minute,
		what:   "IPv4 and IPv6 with and without VLANs over a Linux router.",
		script: xdpTest("^TestRouter$")},
}

// runChecks are whole runs of the program.
var runChecks = []check{
	{name: "tutorial", title: "first hour", limit: 30 * time.Minute,
		what: "Every line of [first-hour.md](first-hour.md) is typed. Its `go build` copies the program that was compiled outside the machine.",
		// The folder with the program go of the check comes first in PATH.
		script: `mkdir -p /tmp/go
printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nexec cp %s/nodrop "$2"\n' $bin > /tmp/go/go
chmod +x /tmp/go/go
PATH=/tmp/go:$PATH
` + commandTest("^TestFirstHour$")},
	{name: "rows", title: "64-byte rows", limit: 15 * time.Minute,
		what: "`nodrop run` with a Linux router of its own: throughput and latency at 64 bytes. No frame is lost.",
		script: manifest{device: "{containerlab: {node: dut, topology: {configMapRef: {name: router, key: topology.clab.yaml}}}}", interfaces: veths,
			networks: [2]string{"198.18.1", "198.18.2"}, gateways: [2]string{"198.18.1.1", "198.18.2.1"},
			// An emulated router forwards some hundred frames per second on a busy machine.
			tests: []string{"{name: throughput, throughput: {resolution: 0.02%, minLoad: 0.01%, maxLoad: 0.05%, trialDuration: 5s, searchTrialDuration: 5s}}",
				"{name: latency, latency: {loads: [0.02%], trialDuration: 5s}}"}}.measure("")},
	{name: "bgp", title: "BGP", limit: 20 * time.Minute,
		what: "The bed, the profile and the tests of `config/samples/bgp-router` over FRR, at low load: 8 routes from each of two sessions with passwords, throughput, latency, convergence.",
		script: `mkdir -p /tmp/secrets/bgp; echo secret > /tmp/secrets/bgp/md5
$bin/nodrop run -f config/samples/bgp-router --secrets /tmp/secrets \
  --set 'benchmark.spec.tests[throughput].throughput={resolution: 0.1%, minLoad: 0.1%, maxLoad: 0.2%, trialDuration: 1s, searchTrialDuration: 500ms}' \
  --set 'benchmark.spec.tests[latency].latency={loads: [0.1%], trialDuration: 1s}' \
  --set 'benchmark.spec.tests[convergence].convergence={routes: networks, load: 0.1%, leadTime: 1s, announcedTime: 5s, withdrawnTime: 5s, cycles: 1}' \
  -o json --output-file $out/$name.json bgp-router || measured $?
$bin/nodrop report $out/$name.json
`},
	{name: "multicast-router", title: "multicast routing", limit: 20 * time.Minute,
		what:   "200 groups from one network to two others over FRR as the rendezvous point (the methods of `config/samples/multicast-routing`).",
		script: commandTest("^TestRunRoutesMulticast$")},
}

// tagChecks use the kernel's own VLANs and label switching as the device under test.
var tagChecks = []check{
	{name: "vlan", title: "802.1Q", limit: 20 * time.Minute,
		what: "Ports in VLANs send through the kernel's 802.1Q interfaces (module `8021q`), bridged in a namespace, and no frame is lost.",
		script: device + `modprobe 8021q
for n in 1 2; do
  ip -n dev link add link d$n name d$n.100 type vlan id 100
  ip -n dev link set d$n.100 master switch
  ip -n dev link set d$n.100 up
done
` + manifest{interfaces: veths, port: ", vlan: {id: 100}", frames: "[128]", policy: "{vlans: [{first: 100}]}", tests: []string{latencyTest}}.measure("")},
	{name: "mpls", title: "label switching", limit: 20 * time.Minute,
		what: "Frames with label 100 are forwarded by the kernel (module `mpls_router`) in a namespace, with label 200, and no frame is lost.",
		script: device + `modprobe mpls_router; modprobe mpls_iptunnel
for n in 1 2; do
  ip -n dev link set d$n nomaster
  ip netns exec dev sysctl -qw net.mpls.platform_labels=1000 net.mpls.conf.d$n.input=1
done
ip -n dev addr add 198.18.1.1/24 dev d1; ip -n dev addr add 198.18.2.1/24 dev d2
ip -n dev -f mpls route add 100 as 200 via inet 198.18.2.3 dev d2
` + manifest{interfaces: veths, networks: [2]string{"198.18.1", "198.18.2"}, gateways: [2]string{"198.18.1.1", "198.18.2.1"},
			frames: "[128]", policy: "{mplsLabels: [{first: 100}]}", pattern: oneWay, packet: "{ipv4: {}, mpls: {labels: [100]}}", tests: []string{latencyTest}}.measure("")},
}

// veths are the near ends of the cables to the device.
var veths = [2]string{"v1", "v2"}

// device makes a namespace "dev" with a bridge "switch", cabled to the interfaces v1 and v2.
const device = `ip netns add dev
ip -n dev link add name switch type bridge
ip -n dev link set switch up
for n in 1 2; do
  ip link add name v$n type veth peer name d$n netns dev
  ip -n dev link set d$n master switch
  ip -n dev link set d$n up
  ip link set v$n up
done
trap 'ip netns del dev' EXIT
`

// cardChecks run on each card. Its two ports are joined by a cable.
var cardChecks = []check{
	{name: "tutorial", title: "first hour", limit: 20 * time.Minute,
		what: "The commands of [first-hour.md](first-hour.md) on the two ports, at 0.5 % load.",
		script: `cd $(mktemp -d)
$bin/nodrop init lab --device switch --interfaces $a,$b --speed 1G --vendor acme --model cable </dev/null
$bin/nodrop validate -f lab
low=(--set 'benchmark.spec.tests[throughput].throughput={resolution: 0.1%, minLoad: 0.1%, maxLoad: 0.2%, trialDuration: 500ms, searchTrialDuration: 200ms}'
  --set 'benchmark.spec.tests[latency].latency={loads: [0.1%], trialDuration: 500ms}' --set benchmark.spec.restTime=0s)
$bin/nodrop run -f lab "${low[@]}" -o json --output-file one.json || measured $?
$bin/nodrop report one.json
$bin/nodrop report one.json -o html --output-file one.html
$bin/nodrop run -f lab "${low[@]}" --set 'profile.spec.packet.udp={sourcePorts: {first: 20001, count: 1000}}' -o json --output-file many.json || measured $?
$bin/nodrop compare "one flow=one.json" "1000 flows=many.json"
`},
	{name: "calibration", title: "calibration", limit: 15 * time.Minute,
		what: "The cable calibrates the ports (`joinedBy: Cables`), and a run uses it: rate and latency, no frame lost.",
		script: onCard(manifest{tests: []string{throughputTest, latencyTest}}) + "cp $out/$name.json /tmp/calibration.json\n" +
			manifest{interfaces: ports, calibration: "cables", tests: []string{latencyTest}}.measure("--calibration /tmp/calibration.json")},
	{name: "throughput", title: "throughput", limit: 15 * time.Minute,
		what: "The highest load without loss, at most 0.5 %.", script: onCard(manifest{tests: []string{throughputTest}})},
	{name: "latency", title: "latency", limit: 15 * time.Minute,
		what: "Latency of every frame at 0.5 %.", script: onCard(manifest{tests: []string{latencyTest}})},
	{name: "ordering", title: "ordering", limit: 15 * time.Minute,
		what: "No frame of one stream is reordered at 0.5 %.", script: onCard(manifest{tests: []string{orderingTest}})},
	{name: "multicast", title: "multicast", limit: 15 * time.Minute,
		what: "Frames to four groups reach the port that joined them.", script: onCard(manifest{pattern: "{fanOut: {groups: 4}}", tests: []string{latencyTest}})},
	{name: "vlan", title: "VLAN", limit: 15 * time.Minute,
		what: "Ports in VLAN 100 resolve their gateways and lose no frame.", script: onCard(manifest{port: ", vlan: {id: 100}", frames: "[128]", policy: "{vlans: [{first: 100}]}", tests: []string{latencyTest}})},
	// The last, since it changes settings of the ports.
	{name: "kills", title: "ten kills", limit: 30 * time.Minute,
		what:   "Ten runs are killed (SIGKILL) while they have the ports. Afterwards `nodrop clean` restores them: names, addresses, MTU, offloads, rings, coalescing, pause frames, receive hash, queues, VLAN filters, promiscuity.",
		script: `export NODROP_TEST_CARDS="$a,$b"` + "\n" + commandTest("^TestCardsAreBackAfterTenKills$")},
}

// ports of the card, whose names the machine knows.
var ports = [2]string{"PORT-A", "PORT-B"}

// onCard measures both ports of the card over their cable.
func onCard(m manifest) string {
	m.interfaces, m.device = ports, cabled
	return m.measure("")
}
