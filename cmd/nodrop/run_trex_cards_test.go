package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

const (
	// trexCardsVariable names two cards that are bound to vfio-pci by their PCI addresses,
	// separated by a comma. hack/vm/trex sets it in an emulated machine.
	trexCardsVariable = "NODROP_TREX_CARDS"
	// peersVariable names the two interfaces at the other ends of their cables.
	peersVariable = "NODROP_TREX_PEERS"
	// dropEvery is the number of frames of which the test's device drops one.
	dropEvery = 20
)

// cardsManifests is a bed of TRex on two cards, cabled to a switch.
const cardsManifests = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: switch}
spec:
  device: {physical: {vendor: example, model: bridge, software: "1"}}
  engine: {kind: trex, trex: {hugePages: {pageSize: 2Mi, total: 512Mi}}}
  ports:
  - name: p1
    node: here
    attachment: {sriov: {resourceName: lab.example/p1}}
    speed: 10M
    addresses: [198.18.1.2/24]
  - name: p2
    node: here
    attachment: {sriov: {resourceName: lab.example/p2}}
    speed: 10M
    addresses: [198.18.1.3/24]
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pairs}
spec:
  frameSizes: [64]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`

// cardsBenchmark runs the given tests.
const cardsBenchmark = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: cards}
spec:
  testBedName: switch
  trafficProfileName: pairs
  settleTime: 500ms
  restTime: 0s
  tests:
  %s
`

// pairOf returns the two entries of a variable, or skips the test.
func pairOf(t *testing.T, name, what string) [2]string {
	t.Helper()
	first, second, found := strings.Cut(os.Getenv(name), ",")
	if !found {
		t.Skipf("%s is not set: it names %s, as hack/vm/trex does in an emulated machine", name, what)
	}
	return [2]string{first, second}
}

// mustRun runs a program to its end.
func mustRun(t *testing.T, name string, args ...string) {
	t.Helper()
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
}

// bridged joins the peers of the cards by a bridge in a network namespace of its own.
func bridged(t *testing.T) (namespace string) {
	t.Helper()
	peers := pairOf(t, peersVariable, "the interfaces at the other ends of the cables of the cards")
	namespace = "nd-cards-device"
	mustRun(t, "ip", "netns", "add", namespace)
	t.Cleanup(func() { mustRun(t, "ip", "netns", "del", namespace) })
	inside := func(args ...string) { mustRun(t, "ip", append([]string{"-n", namespace}, args...)...) }
	mustRun(t, "ip", "netns", "exec", namespace, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
	inside("link", "add", "device", "type", "bridge")
	inside("link", "set", "device", "up")
	for _, peer := range peers {
		mustRun(t, "ip", "link", "set", peer, "netns", namespace)
		t.Cleanup(func() { mustRun(t, "ip", "-n", namespace, "link", "set", peer, "netns", "1") })
		inside("link", "set", peer, "master", "device", "up")
		eventually(t, peer+" to have its link", func() bool {
			text, err := exec.Command("ip", "-n", namespace, "-br", "link", "show", peer).Output()
			return err == nil && strings.Contains(string(text), "LOWER_UP")
		}, func() string { return "" })
	}
	return namespace
}

// onCardsRun runs tests of a benchmark on the two cards of the environment.
func onCardsRun(t *testing.T, tests string) []v1alpha1.ResultRow {
	t.Helper()
	needsTRex(t)
	cards := pairOf(t, trexCardsVariable, "two cards that are bound to vfio-pci")
	t.Setenv("PCIDEVICE_LAB_EXAMPLE_P1", cards[0])
	t.Setenv("PCIDEVICE_LAB_EXAMPLE_P2", cards[1])
	rows := onTRex(t, "-f", manifests(t, fmt.Sprintf(cardsBenchmark, tests), cardsManifests)).Rows
	if len(rows) == 0 {
		t.Fatal("no row was measured")
	}
	for _, row := range rows {
		t.Logf("%s: sent %d, received %d, lost %d; %s %q; latency %+v", report.RowLine(row), row.Frames.Sent, row.Frames.Received, row.Frames.Lost, row.Validity, row.ValidityReasons, row.Latency)
	}
	return rows
}

// TRex measures throughput and latency of a bridge between two cards, which it has taken
// from the kernel.
func TestRunTRexOnCards(t *testing.T) {
	pairOf(t, trexCardsVariable, "two cards that are bound to vfio-pci")
	bridged(t)
	rows := onCardsRun(t, `- name: throughput
    throughput: {resolution: 5%, minLoad: 0.5%, maxLoad: 50%, trialDuration: 10s, searchTrialDuration: 5s}
  - name: latency
    latency: {loads: [1%, throughput], trialDuration: 10s}`)
	for _, row := range rows {
		if f := row.Frames; f.Lost > 0 || f.Received != f.Sent {
			t.Errorf("%s: sent %d, received %d, lost %d: want none lost by a bridge", report.RowLine(row), f.Sent, f.Received, f.Lost)
		}
	}
	for _, row := range rows {
		if row.Validity == v1alpha1.ValidityGeneratorBound {
			t.Skipf("the host gives the emulated machine too little time to send what was intended: %s %q", report.RowLine(row), row.ValidityReasons)
		}
		conserved(t, row)
	}
}

// A device that drops every 20th frame loses 5 %.
func TestRunTRexOnCardsFindsLoss(t *testing.T) {
	pairOf(t, trexCardsVariable, "two cards that are bound to vfio-pci")
	namespace := bridged(t)
	mustRun(t, "ip", "netns", "exec", namespace, "nft",
		fmt.Sprintf("table bridge dropper { chain forward { type filter hook forward priority 0; ether type ip ip protocol udp numgen inc mod %d 0 drop; }; }", dropEvery))
	rows := onCardsRun(t, `- name: loss
    frameLoss: {maxLoad: 10%, step: 5%, trialDuration: 5s}`)
	for _, row := range rows {
		sent, lost := row.Frames.Sent, row.Frames.Lost
		if sent == 0 || lost*dropEvery > sent+dropEvery || lost*dropEvery+dropEvery < sent {
			t.Errorf("%s: sent %d, lost %d, want one of %d", row.Load, sent, lost, dropEvery)
		}
	}
}
