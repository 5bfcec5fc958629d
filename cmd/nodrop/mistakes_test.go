package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/base/hint"
)

// A whole set of manifests, into which each mistake is made.
const rightManifests = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata:
  name: router
spec:
  testBedName: lab
  trafficProfileName: pairs
  settleTime: 200ms
  tests:
  - name: throughput
    throughput:
      search: MLRsearch
      lossRatios: [0%, 0.5%]
      maxLoad: 100%
      trialDuration: 60s
  - name: latency
    latency:
      loads: [50%, throughput]
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata:
  name: pairs
spec:
  frameSizes: [64, 1518]
  pattern: {pairs: {bidirectional: true}}
  packet: {ipv4: {}, udp: {sourcePorts: {first: 20001, count: 100}}}
---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata:
  name: lab
spec:
  device:
    physical: {vendor: acme, model: switch}
  engine: {kind: xdp}
  ports:
  - name: p1
    node: node1
    attachment: {hostDevice: {interface: eth1}}
    speed: 10G
    addresses: [198.18.1.2/24]
    gateways: [198.18.1.1]
  - name: p2
    node: node1
    attachment: {hostDevice: {interface: eth2}}
    speed: 10G
    addresses: [198.18.2.2/24]
    gateways: [198.18.2.1]
`

// problemsOf returns the problems that keep manifests from running, with their hint, as the
// user sees them. The file is m.yaml.
func problemsOf(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "m.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := manifestFlags{files: []string{file}}
	_, err := in.read(newRunCommand(), nil, "")
	if err == nil {
		return ""
	}
	lines := err.Error()
	if advice := hint.Of(err); advice != "" {
		lines += "\nhint: " + advice
	}
	return strings.NewReplacer(dir+"/", "", dir, "DIR").Replace(lines)
}

// TestMistakes makes what people mistype, one at a time. Each message has the field, the
// value, what is allowed there, and what to do.
func TestMistakes(t *testing.T) {
	sendsNoFrames(t)
	if len(mistakes) < 60 {
		t.Errorf("%d mistakes, want 60", len(mistakes))
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			text := strings.Replace(rightManifests, m.from, m.to, 1)
			if text == rightManifests {
				t.Fatal("the mistake changes nothing")
			}
			if diff := cmp.Diff(m.want, problemsOf(t, text)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoMistakes accepts what looks odd, and is right.
func TestNoMistakes(t *testing.T) {
	asJSON := func(text string) string {
		converted, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, converted, "", "\t"); err != nil {
			t.Fatal(err)
		}
		return indented.String() + "\n"
	}
	var inJSON []string
	for document := range strings.SplitSeq(rightManifests, "---\n") {
		inJSON = append(inJSON, asJSON(document))
	}
	for name, text := range map[string]string{
		"as it is":                 rightManifests,
		"line ends of Windows":     strings.ReplaceAll(rightManifests, "\n", "\r\n"),
		"a byte order mark":        "\ufeff" + rightManifests,
		"JSON with tabs":           strings.Join(inJSON, "---\n"),
		"anchors":                  strings.NewReplacer("node: node1\n    attachment: {hostDevice: {interface: eth1}}", "node: &n node1\n    attachment: {hostDevice: {interface: eth1}}", "node: node1", "node: *n").Replace(rightManifests),
		"empty documents":          "---\n# nothing\n---\n" + rightManifests + "---\n...\n",
		"another kind in the file": rightManifests + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got := problemsOf(t, text); got != "" {
				t.Error(got)
			}
		})
	}
}
