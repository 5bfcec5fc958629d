package main

import "time"

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
