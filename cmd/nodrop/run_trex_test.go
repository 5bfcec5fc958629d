package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// asTRex makes a bed of the engine xdp one of TRex in software mode.
func asTRex(bed string) string {
	return strings.Replace(bed, "engine: {kind: xdp}", "engine: {kind: trex, trex: {software: {}}}", 1)
}

// A run on TRex without its server says what is missing, and how to get it, before
// anything is made.
func TestRunTRexRefuses(t *testing.T) {
	t.Parallel()
	notHere := filepath.Join(t.TempDir(), "_t-rex-64")
	tests := map[string]struct {
		rest, dir string
		want      []string
	}{
		"no directory": {asTRex(xdpManifests), "", []string{
			"the engine trex needs a TRex server, and no directory of one was given", "hint: unpack a release of TRex", "nodrop run --trex DIR"}},
		"nothing in the directory": {asTRex(xdpManifests), filepath.Dir(notHere), []string{
			"looking for the TRex server: stat " + notHere + ": no such file", "hint: unpack a release of TRex"}},
		"huge pages": {strings.Replace(asTRex(xdpManifests), "software: {}", "hugePages: {pageSize: 2Mi, total: 1Gi}", 1), "", []string{
			"engine.trex.hugePages of TestBed frr is for DPDK on the network cards of a cluster's nodes", "hint: apply the manifests to the cluster", "software: {}"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := prepare(t, "nodrop", "run", "-f", manifests(t, xdpBenchmark, test.rest), "--trex", test.dir)
			p.begin()
			p.wants(exitUse, "", test.want[0])
			for _, want := range test.want[1:] {
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("stderr lacks %q:\n%s", want, &p.stderr)
				}
			}
		})
	}
}
