package main

import "strings"

// manifest describes a bed with two ports, its traffic and its tests.
type manifest struct {
	// device in the bed; that of a physical device if empty.
	device string
	// calibration is the bed that calibrates this one; none if empty.
	calibration string
	// ports have addresses and, each, further fields.
	interfaces, networks, gateways [2]string
	port                           string
	// frames are the frame sizes; [64] if empty.
	frames          string
	policy          string
	pattern, packet string
	tests           []string
}

const (
	oneNetwork = "198.18.1"
	cabled     = "{backToBack: {joinedBy: Cables}}"
	pairs      = "{pairs: {}}"
	oneWay     = "{pairs: {bidirectional: false}}"
)

// Tests at loads that an emulated machine can send.
const (
	throughputTest = "{name: throughput, throughput: {resolution: 0.2%, minLoad: 0.01%, maxLoad: 0.5%, trialDuration: 1s, searchTrialDuration: 500ms}}"
	latencyTest    = "{name: latency, latency: {loads: [0.5%], trialDuration: 1s}}"
	orderingTest   = "{name: ordering, ordering: {loads: [0.5%], resolution: 0.5%, trialDuration: 1s}}"
)

// yaml returns the manifests of the bed "bed", the profile "traffic" and the benchmark "check".
func (m manifest) yaml() string {
	if m.device == "" {
		m.device = "{physical: {vendor: acme, model: one}}"
	}
	if m.packet == "" {
		m.packet = "{ipv4: {}}"
	}
	if m.pattern == "" {
		m.pattern = pairs
	}
	if m.frames == "" {
		m.frames = "[64]"
	}
	bed := "bed"
	if m.device == cabled {
		bed = "cables"
	}
	var b strings.Builder
	b.WriteString("apiVersion: nodrop.dev/v1alpha1\nkind: TestBed\nmetadata: {name: " + bed + "}\nspec:\n  device: " + m.device + "\n  engine: {kind: xdp}\n")
	if m.calibration != "" {
		b.WriteString("  calibration: {testBedName: " + m.calibration + "}\n")
	}
	if m.policy != "" {
		b.WriteString("  policy: " + m.policy + "\n")
	}
	b.WriteString("  ports:\n")
	for i, port := range []string{"p1", "p2"} {
		network := m.networks[i]
		if network == "" {
			network = oneNetwork
		}
		b.WriteString("  - {name: " + port + ", node: here, attachment: {hostDevice: {interface: " + m.interfaces[i] + "}}, speed: 1G, addresses: [" + network + "." + string(rune('2'+i)) + "/24]" + m.port)
		if m.gateways[i] != "" {
			b.WriteString(", gateways: [" + m.gateways[i] + "]")
		}
		b.WriteString("}\n")
	}
	b.WriteString("---\napiVersion: nodrop.dev/v1alpha1\nkind: TrafficProfile\nmetadata: {name: traffic}\nspec:\n  frameSizes: " + m.frames + "\n  pattern: " + m.pattern + "\n  packet: " + m.packet + "\n")
	b.WriteString("---\napiVersion: nodrop.dev/v1alpha1\nkind: Benchmark\nmetadata: {name: check}\nspec:\n  testBedName: " + bed + "\n  trafficProfileName: traffic\n  settleTime: 500ms\n  restTime: 0s\n  tests:\n")
	for _, test := range m.tests {
		b.WriteString("  - " + test + "\n")
	}
	return b.String()
}

// measure returns a script that runs the manifests with nodrop run and these flags. It
// keeps the result in $out/$name.json, prints its rows, and fails unless every row sent
// frames, and lost and reordered none. Exit code 7 is that of a result without a calibration.
func (m manifest) measure(flags string) string {
	return `rm -rf /tmp/m; mkdir -p /tmp/m
sed "s/PORT-A/${a-}/g; s/PORT-B/${b-}/g" > /tmp/m/all.yaml <<'END'
` + m.yaml() + `END
$bin/nodrop run -f /tmp/m ` + flags + ` -o json --output-file $out/$name.json || measured $?
$bin/nodrop report $out/$name.json
$bin/matrix -exact $out/$name.json
`
}
