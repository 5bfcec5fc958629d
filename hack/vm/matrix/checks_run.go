package main

import "time"

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
