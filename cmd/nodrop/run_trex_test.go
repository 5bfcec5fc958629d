package main

import (
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
)

// asTRex makes a bed of the engine xdp one of TRex in software mode.
func asTRex(bed string) string {
	return strings.Replace(bed, "engine: {kind: xdp}", "engine: {kind: trex, trex: {software: {}}}", 1)
}

// cardsBed is a bed of TRex on cards, cabled to a physical device, with this attachment.
func cardsBed(attachment string) string {
	return strings.NewReplacer(
		"software: {}", "hugePages: {pageSize: 2Mi, total: 1Gi}",
		"{containerlab: {node: dut, topology: {configMapRef: {name: frr-router, key: topology.clab.yaml}}}}", `{physical: {vendor: example, model: SW-48, software: "1"}}`,
		"hostDevice: {interface: nd-p1}", attachment,
		"hostDevice: {interface: nd-p2}", strings.ReplaceAll(attachment, "eth7", "eth8"),
	).Replace(asTRex(xdpManifests))
}

// A run on TRex without its server says what is missing, and how to get it, before
// anything is made.
func TestRunTRexRefuses(t *testing.T) {
	sendsNoFrames(t)
	notHere := filepath.Join(t.TempDir(), "_t-rex-64")
	tests := map[string]struct {
		rest, dir string
		want      []string
	}{
		"no directory": {asTRex(xdpManifests), "", []string{
			"the engine trex needs a TRex server, and no directory of one was given", "hint: unpack a release of TRex", "nodrop run --trex DIR"}},
		"nothing in the directory": {asTRex(xdpManifests), filepath.Dir(notHere), []string{
			"looking for the TRex server: stat " + notHere + ": no such file", "hint: unpack a release of TRex"}},
		"cards and no device at them": {strings.Replace(asTRex(xdpManifests), "software: {}", "hugePages: {pageSize: 2Mi, total: 1Gi}", 1), "", []string{
			"engine.trex.hugePages of TestBed frr is for network cards, and no card is cabled to the device of this run", "joinedBy: Cables", "hint: apply the manifests to the cluster", "software: {}"}},
		"interfaces for cards": {cardsBed("hostDevice: {interface: eth7}"), "", []string{
			`TestBed/frr.spec.ports[0].attachment is "hostDevice", and engine.trex.hugePages takes cards`, "sriov.resourceName, such as lab/p1", "hint: apply"}},
		"no addresses of cards": {cardsBed("sriov: {resourceName: example.com/nowhere}"), "", []string{
			"the environment variable PCIDEVICE_EXAMPLE_COM_NOWHERE is empty", "PCI address of the card of port p1", "hint: bind the card to vfio-pci"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := prepare(t, "nodrop", "run", "-f", manifests(t, xdpBenchmark, test.rest), "--trex", test.dir)
			p.begin()
			p.wants(exit.Use, "", test.want[0])
			for _, want := range test.want[1:] {
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("stderr lacks %q:\n%s", want, &p.stderr)
				}
			}
		})
	}
}
